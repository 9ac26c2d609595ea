//===- Passes.td - Stage 3: what is decided ----------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost model's decisions become attributes; nothing is rewritten here.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def ScheduleChains : Pass<"schedule-chains", "::mlir::func::FuncOp"> {
  let summary = "Decide which neighbouring nests are computed tile by tile";
  let description = [{
    A chain is a range of neighbouring nests, contractions among them, that hand arrays to each other which nobody else
    uses. It gets one `#tile.schedule`, by which all nests are computed in the tiles of the last one, if the models say
    that this is faster: what lies between the nests then stays in the cache of a core, or in its scratchpad. Sizes must
    be known.

    ```mlir
    affine.for .. { %s[%i, %j] += %q[%i, %d] * %k[%j, %d] }   // 1024 x 1024 x 64
    affine.for .. { %p[%i, %j] = f(%s[%i, %j]) }
    affine.for .. { %o[%i, %d] += %p[%i, %j] * %v[%j, %d] }
    // the first one gets, on four cores
    {tile.schedule = #tile.schedule<level = "core", members = 4, ops = 3, loops = [<loop = 5, tile = 64, spread = true>],
        placements = [<array = 0, at = 5, memory = "l2">, <array = 3, at = 5, memory = "l2">]>}
    ```

    An array that nests read in different orders is in the tiles of none. So a form of the kernel is priced, too, in
    which each group of readers computes such an array for itself; then nests are copied.

    A kernel with a schedule on one of its nests is left as it is.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::tilewright::tile::TileDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ScheduleKernels : Pass<"schedule-kernels", "::mlir::func::FuncOp"> {
  let summary = "Decide how nests are tiled, spread over cores and placed in the scratchpad";
  let description = [{
    What has effects in a kernel and is not mapped yet runs on the cores. Each such nest gets a `#tile.schedule` with the
    smallest modelled time (core/CostModel/Schedules/NestSchedule.h): the loops that are cut, the one whose tiles are
    spread over the cores, and for each array the loop at which a tile of it is kept in the scratchpad. Integer sets
    confirm that what a tile touches is a box that fits. Cores that reach global memory may also compute in place.

    ```mlir
    affine.for %i = 0 to 100 { affine.for %j = 0 to 300 { .. %x[%i, %j] .. } }
    // becomes, with four cores
    affine.for %i = 0 to 100 { .. } {tile.schedule = #tile.schedule<level = "core", members = 4,
        loops = [<loop = 0, tile = 25, spread = true>], placements = [<array = 0, at = 0, memory = "scratchpad">]>}
    ```

    A schedule that stands on a nest already is kept. A buffer of a nest that the scratchpad cannot hold becomes an
    array of the program. A nest that the cores cannot run, since no tile of it fits and they reach no other memory, is
    an error that names the array and the memory.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::tilewright::tile::TileDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_PASSES
