// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright:%build/test/plugins/dmaonly tw-opt %s -split-input-file -schedule-kernels -verify-diagnostics | FileCheck %s

// Cores that reach no memory but their scratchpad: every array has a placement.
module attributes {tilewright.target = "dmaonly:npu"} {
  // Rows are shared out; the next tile comes while this one is computed.
  // CHECK-LABEL: func.func private @rows
  // CHECK: tile.schedule = #tile.schedule<level = "core", members = 4, loops = [<loop = 0, tile = {{[0-9]+}}, spread = true>], placements = [<array = 0, at = 0, memory = "scratchpad", stages = 2>, <array = 1, at = 0, memory = "scratchpad", stages = 2>]>
  func.func private @rows(%a: memref<1024x512xf32>, %b: memref<1024x512xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 1024 {
      affine.for %j = 0 to 512 {
        %x = affine.load %a[%i, %j] : memref<1024x512xf32>
        %y = arith.addf %x, %x : f32
        affine.store %y, %b[%i, %j] : memref<1024x512xf32>
      }
    }
    return
  }

  // A row that the scratchpad does not hold is cut inside: the sum stays at the row, the row's parts come one by one.
  // CHECK-LABEL: func.func private @long_rows
  // CHECK: loops = [<loop = 0, tile = 1, spread = true>, <loop = 1, tile = [[PART:[0-9]+]]>], placements = [<array = 0, at = 0, memory = "scratchpad">, <array = 1, at = 1, memory = "scratchpad">]
  func.func private @long_rows(%s: memref<8xf32>, %a: memref<8x1000000xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 8 {
      affine.store %zero, %s[%i] : memref<8xf32>
      affine.for %j = 0 to 1000000 {
        %x = affine.load %a[%i, %j] : memref<8x1000000xf32>
        %y = affine.load %s[%i] : memref<8xf32>
        %z = arith.addf %x, %y : f32
        affine.store %z, %s[%i] : memref<8xf32>
      }
    }
    return
  }

  // The columns of a sum over rows are spread, though the loop over them stands inside.
  // CHECK-LABEL: func.func private @columns
  // CHECK: members = 4, loops = [<loop = 1, tile = {{[0-9]+}}, spread = true>]
  func.func private @columns(%s: memref<512xf32>, %a: memref<1024x512xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 1024 {
      affine.for %j = 0 to 512 {
        %x = affine.load %a[%i, %j] : memref<1024x512xf32>
        %y = affine.load %s[%j] : memref<512xf32>
        %z = arith.addf %x, %y : f32
        affine.store %z, %s[%j] : memref<512xf32>
      }
    }
    return
  }

  // Where results leave from the buffer that operands came into, the next tile comes when they have left.
  // CHECK-LABEL: func.func private @in_place
  // CHECK: placements = [<array = 0, at = 0, memory = "scratchpad">, <array = 1, at = 0, memory = "scratchpad">]
  func.func private @in_place(%a: memref<512x1024xf32>, %b: memref<512x1024xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 512 {
      affine.for %j = 0 to 1024 {
        %x = affine.load %a[%i, %j] : memref<512x1024xf32>
        %y = affine.load %b[%i, %j] : memref<512x1024xf32>
        %z = arith.addf %x, %y : f32
        affine.store %z, %a[%i, %j] : memref<512x1024xf32>
      }
    }
    return
  }

  // A recurrence is one core's.
  // CHECK-LABEL: func.func private @recurrence
  // CHECK: #tile.schedule<level = "core", members = 1,
  func.func private @recurrence(%a: memref<16xf32>) attributes {tilewright.kernel} {
    affine.for %i = 1 to 16 {
      %x = affine.load %a[%i - 1] : memref<16xf32>
      affine.store %x, %a[%i] : memref<16xf32>
    }
    return
  }

  // A buffer of the nest that is too large becomes an array of the program, with a dimension for the loop around it.
  // CHECK-LABEL: func.func private @large_buffer
  // CHECK: %[[ARRAY:.*]] = memref.alloc() : memref<4x500000xf32>
  // CHECK: affine.store %{{.*}}, %[[ARRAY]][%[[I:.*]], %{{.*}}] : memref<4x500000xf32>
  func.func private @large_buffer(%a: memref<4x500000xf32>, %b: memref<4x500000xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 4 {
      %t = memref.alloc() : memref<500000xf32>
      affine.for %j = 0 to 500000 {
        %x = affine.load %a[%i, %j] : memref<4x500000xf32>
        affine.store %x, %t[%j] : memref<500000xf32>
      }
      affine.for %j = 0 to 500000 {
        %x = affine.load %t[499999 - %j] : memref<500000xf32>
        affine.store %x, %b[%i, %j] : memref<4x500000xf32>
      }
    }
    return
  }

  // A schedule that stands there is kept.
  // CHECK-LABEL: func.func private @forced
  // CHECK: tile.schedule = #tile.schedule<level = "core", members = 2, loops = [<loop = 0, tile = 3, spread = true>]>
  func.func private @forced(%a: memref<16xf32>) attributes {tilewright.kernel} {
    %x = arith.constant 1.0 : f32
    affine.for %i = 0 to 16 {
      affine.store %x, %a[%i] : memref<16xf32>
    } {tile.schedule = #tile.schedule<level = "core", members = 2, loops = [<loop = 0, tile = 3, spread = true>]>}
    return
  }
}

// -----

// Cores that reach global memory compute small nests where they lie.
module attributes {tilewright.target = "accelerator:npu"} {
  // CHECK-LABEL: func.func private @small
  // CHECK: tile.schedule = #tile.schedule<level = "core", members = 4, loops = [<loop = 0, tile = 3, spread = true>]>
  func.func private @small(%a: memref<10x7xf32>) attributes {tilewright.kernel} {
    %x = arith.constant 1.0 : f32
    affine.for %i = 0 to 10 {
      affine.for %j = 0 to 7 {
        affine.store %x, %a[%i, %j] : memref<10x7xf32>
      }
    }
    return
  }

  // Operations that use each other's values are one piece, next to each other, with one schedule.
  // CHECK-LABEL: func.func private @straight
  // CHECK: vector.load {{.*}} {tile.schedule = #tile.schedule<level = "core", members = 1, ops = 3>}
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: vector.maskedstore
  func.func private @straight(%a: memref<16xf32>, %n: index) attributes {tilewright.kernel} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0] : memref<16xf32>, vector<16xf32>
    %mask = vector.create_mask %n : vector<16xi1>
    %y = arith.addf %x, %x : vector<16xf32>
    vector.maskedstore %a[%c0], %mask, %y : memref<16xf32>, vector<16xi1>, vector<16xf32>
    return
  }
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  // Of several operations that share a core no loop is cut: only a nest alone can be.
  // CHECK-LABEL: func.func private @beside_a_nest
  // CHECK: affine.load {{.*}} {tile.schedule = #tile.schedule<level = "core", members = 1, ops = 4>}
  func.func private @beside_a_nest(%s: memref<f32>, %a: memref<?xf32>, %b: memref<f32>, %n: index) attributes {tilewright.kernel} {
    %x = affine.load %s[] : memref<f32>
    %y = arith.mulf %x, %x : f32
    affine.for %i = 0 to %n {
      %z = affine.load %a[%i] : memref<?xf32>
      %w = arith.addf %z, %z : f32
      affine.store %w, %a[%i] : memref<?xf32>
    }
    affine.store %y, %b[] : memref<f32>
    return
  }
}

// -----

module attributes {tilewright.target = "dmaonly:npu"} {
  func.func private @gather(%a: memref<64xf32>, %at: memref<8xi32>, %b: memref<8xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 8 {
      %n = affine.load %at[%i] : memref<8xi32>
      %p = arith.index_cast %n : i32 to index
      // expected-error @below {{its elements are at indices that are computed, or it is no affine access; the cores of dmaonly:npu do not reach the memory "global". A copy engine from it to a register file would say that they do}}
      %x = memref.load %a[%p] : memref<64xf32>
      affine.store %x, %b[%i] : memref<8xf32>
    }
    return
  }
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  func.func private @between(%a: memref<1xf32>) attributes {tilewright.kernel} {
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%c0] : memref<1xf32>
    // expected-error @below {{stands between two operations on cores, one of which uses what the other computed}}
    tile.parallel (%core) to (4) level "core" {
    }
    memref.store %x, %a[%c0] : memref<1xf32>
    return
  }
}

// -----

module attributes {tilewright.target = "nvidia:A100"} {
  // expected-error @below {{chip nvidia:A100 has no cores with a scratchpad}}
  func.func private @other(%a: memref<16xf32>) attributes {tilewright.kernel} {
    return
  }
}
