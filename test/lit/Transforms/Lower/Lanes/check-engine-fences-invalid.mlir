// What lanes wrote and did not publish before an engine uses it.
//
// RUN: tw-opt %s -split-input-file -check-engine-fences -verify-diagnostics

// No fence at all.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.barrier()
llvm.func @tilewright.primitive.store_tensor(!llvm.ptr, !llvm.ptr<3>, i32, i32)
llvm.func @missing(%map: !llvm.ptr, %v: f32) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  // expected-note @below {{'llvm.store' writes here}}
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.barrier() : () -> ()
  // expected-error @below {{kernel missing: 'tilewright.primitive.store_tensor' lets an engine use scratchpad memory that lanes wrote without publishing it: a fence before engines is missing after the write, before the barrier}}
  llvm.call @tilewright.primitive.store_tensor(%map, %tile, %c0, %c0) : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  llvm.return
}
}

// -----

// The fence stands on one of two paths.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.fence_engines()
llvm.func @tilewright.primitive.store_tensor(!llvm.ptr, !llvm.ptr<3>, i32, i32)
llvm.func @one_path(%map: !llvm.ptr, %v: f32, %some: i1) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  // expected-note @below {{'llvm.store' writes here}}
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.cond_br %some, ^fenced, ^store
^fenced:
  llvm.call @tilewright.primitive.fence_engines() : () -> ()
  llvm.br ^store
^store:
  // expected-error @below {{a fence before engines is missing after the write}}
  llvm.call @tilewright.primitive.store_tensor(%map, %tile, %c0, %c0) : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  llvm.return
}
}

// -----

// Lanes meet, then fence: those that did not start the engine may still be before their fence.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.barrier()
llvm.func @tilewright.primitive.fence_engines()
llvm.func @tilewright.primitive.store_tensor(!llvm.ptr, !llvm.ptr<3>, i32, i32)
llvm.func @behind_the_barrier(%map: !llvm.ptr, %v: f32) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  // expected-note @below {{'llvm.store' writes here}}
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.call @tilewright.primitive.fence_engines() : () -> ()
  // expected-error @below {{the fence before engines stands after the barrier that hands the write on; it belongs between the two}}
  llvm.call @tilewright.primitive.store_tensor(%map, %tile, %c0, %c0) : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  llvm.return
}
}

// -----

// The engine works in the next round of the loop.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.barrier()
llvm.func @tilewright.primitive.store_tensor(!llvm.ptr, !llvm.ptr<3>, i32, i32)
llvm.func @next_round(%map: !llvm.ptr, %v: f32, %more: i1) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  llvm.br ^loop
^loop:
  // expected-error @below {{a fence before engines is missing after the write, before the barrier}}
  llvm.call @tilewright.primitive.store_tensor(%map, %tile, %c0, %c0) : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  // expected-note @below {{'llvm.store' writes here}}
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.cond_br %more, ^loop, ^end
^end:
  llvm.return
}
}

// -----

// Lanes of one role write and hand on; a lane of another one starts the engine, on no path together with the write.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.named_barrier(i32, i32)
llvm.func @tilewright.primitive.named_barrier_arrive(i32, i32)
llvm.func @tilewright.primitive.store_tensor(!llvm.ptr, !llvm.ptr<3>, i32, i32)
llvm.func @other_role(%map: !llvm.ptr, %v: f32, %writes: i1) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c64 = llvm.mlir.constant(64 : i32) : i32
  llvm.cond_br %writes, ^write, ^store
^write:
  // expected-note @below {{'llvm.store' writes here}}
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.named_barrier_arrive(%c1, %c64) : (i32, i32) -> ()
  llvm.br ^end
^store:
  llvm.call @tilewright.primitive.named_barrier(%c1, %c64) : (i32, i32) -> ()
  // expected-error @below {{a fence before engines is missing after the write, before the barrier}}
  llvm.call @tilewright.primitive.store_tensor(%map, %tile, %c0, %c0) : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  llvm.br ^end
^end:
  llvm.return
}
}

// -----

// A phase object has to be published too.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.barrier()
llvm.func @tilewright.primitive.phase_init(!llvm.ptr<3>, i32)
llvm.func @tilewright.primitive.copy_tensor(!llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, i32, i32)
llvm.func @phase(%map: !llvm.ptr, %to: !llvm.ptr<3>) attributes {nvvm.kernel} {
  %phase = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  // expected-note @below {{'tilewright.primitive.phase_init' writes here}}
  llvm.call @tilewright.primitive.phase_init(%phase, %c1) : (!llvm.ptr<3>, i32) -> ()
  llvm.call @tilewright.primitive.barrier() : () -> ()
  // expected-error @below {{kernel phase: 'tilewright.primitive.copy_tensor' lets an engine use scratchpad memory}}
  llvm.call @tilewright.primitive.copy_tensor(%to, %map, %phase, %c0, %c0) : (!llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  llvm.return
}
}

// -----

// The write lies in a function that the kernel calls.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.store_tensor(!llvm.ptr, !llvm.ptr<3>, i32, i32)
llvm.func @writes(%v: f32) {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.return
}
llvm.func @called(%map: !llvm.ptr, %v: f32) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  // expected-note @below {{'writes' writes here}}
  llvm.call @writes(%v) : (f32) -> ()
  // expected-error @below {{a fence before engines is missing after the write}}
  llvm.call @tilewright.primitive.store_tensor(%map, %tile, %c0, %c0) : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  llvm.return
}
}

// -----

// Registers of units: no fence at all.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.func @tilewright.primitive.fence_units()
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @first(%a: i64, %b: i64, %k: i64, %sum: vector<8xf32>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // expected-error @below {{kernel first: 'nvidia.wgmma_m64n16k16_f16_f32' takes registers from lanes without a fence: a fence of units' registers is missing before the kernel's first unit}}
  %0 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%a, %k, %b, %k, %sum) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  llvm.store %0, %out : vector<8xf32>, !llvm.ptr<1>
  llvm.return
}
}

// -----

// Lanes change a sum between two units; the fence stands on one of two paths.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.func @tilewright.primitive.fence_units()
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @written(%a: i64, %b: i64, %k: i64, %sum: vector<8xf32>, %some: i1, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  llvm.call @tilewright.primitive.fence_units() : () -> ()
  %0 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%a, %k, %b, %k, %sum) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  // expected-note @below {{'llvm.fadd' is the access}}
  %1 = llvm.fadd %0, %sum : vector<8xf32>
  llvm.cond_br %some, ^fence, ^go
^fence:
  llvm.call @tilewright.primitive.fence_units() : () -> ()
  llvm.br ^go
^go:
  // expected-error @below {{kernel written: 'nvidia.wgmma_m64n16k16_f16_f32' takes registers from lanes without a fence: a fence of units' registers is missing after an access by lanes}}
  %2 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%a, %k, %b, %k, %1) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  llvm.store %2, %out : vector<8xf32>, !llvm.ptr<1>
  llvm.return
}
}

// -----

// Lanes read a sum that goes on.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.func @tilewright.primitive.fence_units()
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @read(%a: i64, %b: i64, %k: i64, %sum: vector<8xf32>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  llvm.call @tilewright.primitive.fence_units() : () -> ()
  %0 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%a, %k, %b, %k, %sum) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  // expected-note @below {{'llvm.store' is the access}}
  llvm.store %0, %out : vector<8xf32>, !llvm.ptr<1>
  // expected-error @below {{a fence of units' registers is missing after an access by lanes}}
  %1 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%a, %k, %b, %k, %0) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  llvm.return
}
}

// -----

// Sums that a branch passes on are written at the branch, behind this fence.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.func @tilewright.primitive.fence_units()
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @branch(%a: i64, %b: i64, %k: i64, %more: i1, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %zero = llvm.mlir.constant(dense<0.0> : vector<8xf32>) : vector<8xf32>
  llvm.call @tilewright.primitive.fence_units() : () -> ()
  // expected-note @below {{'llvm.br' is the access}}
  llvm.br ^loop(%zero : vector<8xf32>)
^loop(%sum: vector<8xf32>):
  // expected-error @below {{a fence of units' registers is missing after an access by lanes}}
  %0 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%a, %k, %b, %k, %sum) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  llvm.cond_br %more, ^loop(%0 : vector<8xf32>), ^end
^end:
  llvm.store %0, %out : vector<8xf32>, !llvm.ptr<1>
  llvm.return
}
}

// -----

// Of accesses on several paths the note names the first one as the function is written.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.func @tilewright.primitive.fence_units()
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @paths(%a: i64, %b: i64, %k: i64, %sum: vector<8xf32>, %some: i1, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  llvm.call @tilewright.primitive.fence_units() : () -> ()
  llvm.cond_br %some, ^doubled, ^squared
^doubled:
  // expected-note @below {{'llvm.fadd' is the access}}
  %0 = llvm.fadd %sum, %sum : vector<8xf32>
  llvm.br ^go(%0 : vector<8xf32>)
^squared:
  %1 = llvm.fmul %sum, %sum : vector<8xf32>
  llvm.br ^go(%1 : vector<8xf32>)
^go(%2: vector<8xf32>):
  // expected-error @below {{a fence of units' registers is missing after an access by lanes}}
  %3 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%a, %k, %b, %k, %2) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  llvm.store %3, %out : vector<8xf32>, !llvm.ptr<1>
  llvm.return
}
}

// -----

// Another record's unit takes the sums.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.func @tilewright.primitive.fence_units()
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_bf16_f32(i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @other(%a: i64, %b: i64, %k: i64, %sum: vector<8xf32>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  llvm.call @tilewright.primitive.fence_units() : () -> ()
  // expected-note @below {{'llvm.call' is the access}}
  %0 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%a, %k, %b, %k, %sum) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  // expected-error @below {{'nvidia.wgmma_m64n16k16_bf16_f32' takes registers from lanes without a fence: a fence of units' registers is missing after an access by lanes}}
  %1 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_bf16_f32(%a, %k, %b, %k, %0) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
  llvm.store %1, %out : vector<8xf32>, !llvm.ptr<1>
  llvm.return
}
}

// -----

// expected-error @below {{the module has no attribute 'tilewright.target'; give one such as "target:chip"}}
module {
}

// -----

// An operand that the unit takes from registers is written behind the fence.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.func @tilewright.primitive.fence_units()
llvm.func @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32_a(vector<8xf16>, i64, i64, vector<8xf32>) -> vector<8xf32>
llvm.func @operand(%a: vector<8xf16>, %b: i64, %k: i64, %sum: vector<8xf32>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  llvm.call @tilewright.primitive.fence_units() : () -> ()
  %0 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32_a(%a, %b, %k, %sum) : (vector<8xf16>, i64, i64, vector<8xf32>) -> vector<8xf32>
  // expected-note @below {{'llvm.fadd' is the access}}
  %1 = llvm.fadd %a, %a : vector<8xf16>
  // expected-error @below {{kernel operand: 'nvidia.wgmma_m64n16k16_f16_f32_a' takes registers from lanes without a fence: a fence of units' registers is missing after an access by lanes}}
  %2 = llvm.call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32_a(%1, %b, %k, %0) : (vector<8xf16>, i64, i64, vector<8xf32>) -> vector<8xf32>
  llvm.store %2, %out : vector<8xf32>, !llvm.ptr<1>
  llvm.return
}
}

// -----

// Whether an engine may work at all is asked of one op of each kind; in which order they stand, of every one: here the second
// of two equal ones breaks it.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.barrier()
llvm.func @tilewright.primitive.fence_engines()
llvm.func @tilewright.primitive.store_tensor(!llvm.ptr, !llvm.ptr<3>, i32, i32)
llvm.func @second(%map: !llvm.ptr, %v: f32) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.fence_engines() : () -> ()
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.call @tilewright.primitive.store_tensor(%map, %tile, %c0, %c0) : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  llvm.call @tilewright.primitive.barrier() : () -> ()
  // expected-note @below {{'llvm.store' writes here}}
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.barrier() : () -> ()
  // expected-error @below {{kernel second: 'tilewright.primitive.store_tensor' lets an engine use scratchpad memory that lanes wrote without publishing it: a fence before engines is missing after the write, before the barrier}}
  llvm.call @tilewright.primitive.store_tensor(%map, %tile, %c0, %c0) : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  llvm.return
}
}

// -----

// The kernel that starts an engine is the second one of the module: the first has calls, too, but none that starts one.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.barrier()
llvm.func @tilewright.primitive.store_tensor(!llvm.ptr, !llvm.ptr<3>, i32, i32)
llvm.func @lanes_alone(%v: f32) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.return
}
llvm.func @with_engine(%map: !llvm.ptr, %v: f32) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  // expected-note @below {{'llvm.store' writes here}}
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.barrier() : () -> ()
  // expected-error @below {{kernel with_engine: 'tilewright.primitive.store_tensor' lets an engine use scratchpad memory}}
  llvm.call @tilewright.primitive.store_tensor(%map, %tile, %c0, %c0) : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  llvm.return
}
}

// -----

// The engine is started by a function that the kernel calls.
module attributes {tilewright.target = "nvidia:H100"} {
llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8>
llvm.func @tilewright.primitive.store_tensor(!llvm.ptr, !llvm.ptr<3>, i32, i32)
llvm.func @starts(%map: !llvm.ptr) {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  llvm.call @tilewright.primitive.store_tensor(%map, %tile, %c0, %c0) : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
  llvm.return
}
llvm.func @calls(%map: !llvm.ptr, %v: f32) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  // expected-note @below {{'llvm.store' writes here}}
  llvm.store %v, %tile : f32, !llvm.ptr<3>
  // expected-error @below {{kernel calls: 'starts' lets an engine use scratchpad memory}}
  llvm.call @starts(%map) : (!llvm.ptr) -> ()
  llvm.return
}
}
