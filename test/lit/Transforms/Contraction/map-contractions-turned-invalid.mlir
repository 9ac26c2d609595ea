// What a launch before a contraction cannot turn, though it is forced to.
//
// RUN: tw-opt %s -split-input-file -map-contractions -verify-diagnostics -o /dev/null

module attributes {tilewright.target = "amd:MI300X", tilewright.force = "transpose_before=3"} {
func.func @in_order(%a: memref<64x64xi8>, %b: memref<64x64xi8>, %c: memref<64x64xi32>) {
  // expected-error@+1 {{plan field 'transpose_before' is 3, but operand A of this contraction cannot be transposed by a launch before it: k is the fastest dimension of its array already}}
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 64 {
        %x = affine.load %a[%i, %k] : memref<64x64xi8>
        %y = affine.load %b[%k, %j] : memref<64x64xi8>
        %z = affine.load %c[%i, %j] : memref<64x64xi32>
        %xe = arith.extsi %x : i8 to i32
        %ye = arith.extsi %y : i8 to i32
        %p = arith.muli %xe, %ye : i32
        %s = arith.addi %z, %p : i32
        affine.store %s, %c[%i, %j] : memref<64x64xi32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X", tilewright.force = "transpose_before=2"} {
func.func @of_any_size(%a: memref<64x64xi8>, %b: memref<?x64xi8>, %c: memref<64x64xi32>) {
  // expected-error@+1 {{operand B of this contraction cannot be transposed by a launch before it: the sizes of its array are dynamic}}
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 64 {
        %x = affine.load %a[%i, %k] : memref<64x64xi8>
        %y = affine.load %b[%k, %j] : memref<?x64xi8>
        %z = affine.load %c[%i, %j] : memref<64x64xi32>
        %xe = arith.extsi %x : i8 to i32
        %ye = arith.extsi %y : i8 to i32
        %p = arith.muli %xe, %ye : i32
        %s = arith.addi %z, %p : i32
        affine.store %s, %c[%i, %j] : memref<64x64xi32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X", tilewright.force = "transpose_before=2"} {
func.func @part(%a: memref<64x64xi8>, %b: memref<64x64xi8, strided<[128, 1]>>, %c: memref<64x64xi32>) {
  // expected-error@+1 {{operand B of this contraction cannot be transposed by a launch before it: its array is part of another one, with strides}}
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 64 {
        %x = affine.load %a[%i, %k] : memref<64x64xi8>
        %y = affine.load %b[%k, %j] : memref<64x64xi8, strided<[128, 1]>>
        %z = affine.load %c[%i, %j] : memref<64x64xi32>
        %xe = arith.extsi %x : i8 to i32
        %ye = arith.extsi %y : i8 to i32
        %p = arith.muli %xe, %ye : i32
        %s = arith.addi %z, %p : i32
        affine.store %s, %c[%i, %j] : memref<64x64xi32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X", tilewright.force = "transpose_before=2"} {
func.func @two_of_k(%a: memref<64x64xi8>, %b: memref<127x64xi8>, %c: memref<64x64xi32>) {
  // expected-error@+1 {{operand B of this contraction cannot be transposed by a launch before it: no dimension of its array is k alone}}
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 64 {
        %x = affine.load %a[%i, %k] : memref<64x64xi8>
        %y = affine.load %b[%k + %j, %j] : memref<127x64xi8>
        %z = affine.load %c[%i, %j] : memref<64x64xi32>
        %xe = arith.extsi %x : i8 to i32
        %ye = arith.extsi %y : i8 to i32
        %p = arith.muli %xe, %ye : i32
        %s = arith.addi %z, %p : i32
        affine.store %s, %c[%i, %j] : memref<64x64xi32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X", tilewright.force = "transpose_before=4"} {
// expected-error@+1 {{plan field 'transpose_before' is 4; it is 0 (no operand), 1 (A), 2 (B) or 3 (both)}}
func.func @no_operand() {
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X", tilewright.force = "split_k=0"} {
// expected-error@+1 {{plan field 'split_k' is 0; it is the number of blocks that share a sum, 1 for a whole one}}
func.func @no_part() {
  return
}
}

// -----

// Fields of decisions that are taken for blocks of lanes say so elsewhere.
module attributes {tilewright.target = "cpu:zen4", tilewright.force = "split_k=4"} {
// expected-error@+1 {{plan field 'split_k' is for chips with blocks of lanes; cpu:zen4 has none}}
func.func @no_blocks_share_a_sum() {
  return
}
}

// -----

module attributes {tilewright.target = "cpu:zen4", tilewright.force = "rows=4,transpose_before=1"} {
// expected-error@+1 {{plan field 'transpose_before' is for chips with blocks of lanes; cpu:zen4 has none}}
func.func @no_launch_before() {
  return
}
}

// -----

module attributes {tilewright.target = "cpu:zen4", tilewright.force = "chain_rows=64,chain_stages=3"} {
// expected-error@+1 {{plan field 'chain_stages' is for chips with blocks of lanes; cpu:zen4 has none}}
func.func @no_program_of_tiles() {
  return
}
}

// -----

// Tiles of chains there are.
module attributes {tilewright.target = "cpu:zen4", tilewright.force = "chain_rows=64,chain_step=32,rows=4"} {
func.func @tiles() {
  return
}
}

// -----

// One message for all functions of a module.
module attributes {tilewright.target = "amd:MI300X", tilewright.force = "block_x=4"} {
// expected-error@+1 {{unknown plan field 'block_x'}}
func.func @first() {
  return
}
func.func @second() {
  return
}
}
