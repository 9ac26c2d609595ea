// RUN: tw-opt %s --bound-errors --split-input-file | FileCheck %s

// Inputs are exact and keep their type; what rounds is f64, with a bound and a spread beside it. The array of bounds comes last.
// CHECK-LABEL: func.func @squares
// CHECK-SAME: (%[[A:.*]]: memref<16xf32>, %[[OUT:.*]]: memref<16xf64>, %[[BOUND:.*]]: memref<16xf64>)
// CHECK-SAME: tilewright.bounds = array<i32: -1, 2>
// CHECK: affine.load %[[A]]
// CHECK: arith.extf
// CHECK: arith.mulf {{.*}} : f64
// CHECK-COUNT-3: affine.store
// CHECK: arith.minimumf
// CHECK: affine.store %{{.*}}, %[[BOUND]]
func.func @squares(%a: memref<16xf32>, %out: memref<16xf32>) {
  affine.for %i = 0 to 16 {
    %x = affine.load %a[%i] : memref<16xf32>
    %y = arith.mulf %x, %x : f32
    affine.store %y, %out[%i] : memref<16xf32>
  }
  return
}

// -----

// Attributes of arguments stay with them: companions have none.
// CHECK-LABEL: func.func @constant
// CHECK-SAME: (%{{.*}}: memref<f32> {tilewright.constant}, %{{.*}}: memref<f64>, %{{.*}}: memref<f64>)
func.func @constant(%a: memref<f32> {tilewright.constant}, %out: memref<f32>) {
  %x = affine.load %a[] : memref<f32>
  %y = arith.addf %x, %x : f32
  affine.store %y, %out[] : memref<f32>
  return
}

// -----

// Nothing rounds: nothing is bounded.
// CHECK-LABEL: func.func @larger
// CHECK-SAME: memref<16xf16>, %{{.*}}: memref<16xf16>) attributes {tilewright.bounds = array<i32: -1, -1>}
// CHECK: arith.maximumf {{.*}} : f64
// CHECK: arith.truncf {{.*}} : f64 to f16
// CHECK-NOT: affine.load
func.func @larger(%a: memref<16xf16>, %out: memref<16xf16>) {
  %zero = arith.constant 0.0 : f16
  affine.for %i = 0 to 16 {
    %x = affine.load %a[%i] : memref<16xf16>
    %y = arith.maximumf %x, %zero : f16
    affine.store %y, %out[%i] : memref<16xf16>
  }
  return
}

// -----

// A sum that a loop hands on has four companions: bounds, squared spreads, magnitudes and number of its terms.
// CHECK-LABEL: func.func @carried
// CHECK: affine.for {{.*}} iter_args({{.*}}) -> (f64, f64, f64, f64, f64)
// CHECK: affine.yield {{.*}} : f64, f64, f64, f64, f64
func.func @carried(%a: memref<16xbf16>, %out: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = affine.for %i = 0 to 16 iter_args(%acc = %zero) -> f32 {
    %x = affine.load %a[%i] : memref<16xbf16>
    %w = arith.extf %x : bf16 to f32
    %n = arith.addf %acc, %w : f32
    affine.yield %n : f32
  }
  affine.store %s, %out[0] : memref<1xf32>
  return
}

// -----

// A comparison that is too close decides how often the loop runs: all bounds of the program are infinite then.
// CHECK: memref.global "private" @tilewright_unsure
// CHECK-LABEL: func.func @halves
// CHECK: scf.while {{.*}} : (f64, f64, f64) -> (f64, f64, f64)
// CHECK: memref.get_global @tilewright_unsure
// CHECK: scf.condition
func.func @halves(%a: memref<1xf32>, %out: memref<1xf32>) {
  %half = arith.constant 0.3 : f32
  %one = arith.constant 1.0 : f32
  %x = affine.load %a[0] : memref<1xf32>
  %r = scf.while (%v = %x) : (f32) -> f32 {
    %c = arith.cmpf ogt, %v, %one : f32
    scf.condition(%c) %v : f32
  } do {
  ^bb0(%v: f32):
    %h = arith.mulf %v, %half : f32
    scf.yield %h : f32
  }
  affine.store %r, %out[0] : memref<1xf32>
  return
}

// -----

// A private function takes and gives the companions of what carries errors.
// CHECK-LABEL: func.func private @twice
// CHECK-SAME: (%{{.*}}: f64, %{{.*}}: f64, %{{.*}}: f64) -> (f64, f64, f64)
func.func private @twice(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @scalars
// CHECK-SAME: -> (f64, f64)
// CHECK: call @twice({{.*}}) : (f64, f64, f64) -> (f64, f64, f64)
func.func @scalars(%x: f32) -> f32 {
  %e = math.exp %x : f32
  %y = call @twice(%e) : (f32) -> f32
  return %y : f32
}

// -----

// A choice between two arrays chooses their companions as well, though one of them holds what was read.
// CHECK-LABEL: func.func @choice
// CHECK: %[[CHOSEN:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : memref<4xf64>
// CHECK: %[[BOUNDS:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : memref<4xf64>
// CHECK: affine.load %[[CHOSEN]][
// CHECK: affine.load %[[BOUNDS]][
func.func @choice(%first: i1, %a: memref<4xf32>, %out: memref<4xf32>) {
  %doubled = memref.alloc() : memref<4xf32>
  affine.for %i = 0 to 4 {
    %x = affine.load %a[%i] : memref<4xf32>
    %y = arith.addf %x, %x : f32
    affine.store %y, %doubled[%i] : memref<4xf32>
  }
  %chosen = arith.select %first, %doubled, %a : memref<4xf32>
  affine.for %i = 0 to 4 {
    %x = affine.load %chosen[%i] : memref<4xf32>
    affine.store %x, %out[%i] : memref<4xf32>
  }
  memref.dealloc %doubled : memref<4xf32>
  return
}
