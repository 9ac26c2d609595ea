// RUN: tw-opt %s --prove --split-input-file --verify-diagnostics

// Each element by one iteration of each loop; sums write it again.
module {
  func.func @whole(%a: memref<33x47xf32>, %r: memref<33x47xf32>) attributes {tilewright.inputs = 1 : i64} {
    %zero = arith.constant 0.0 : f32
    affine.parallel (%i) = (0) to (5) {
      affine.for %j = 0 to min affine_map<(d0) -> (7, -d0 * 7 + 33)>(%i) {
        affine.for %k = 0 to 47 {
          affine.store %zero, %r[%i * 7 + %j, %k] : memref<33x47xf32>
          affine.for %l = 0 to 4 {
            %x = affine.load %r[%i * 7 + %j, %k] : memref<33x47xf32>
            affine.store %x, %r[%i * 7 + %j, %k] : memref<33x47xf32>
          }
        }
      }
    }
    return
  }
}

// -----

// The last row is left out.
module {
  // expected-error @+1 {{written: disproved: element [32, 0] of argument 1 is never written}}
  func.func @row(%a: memref<33x47xf32>, %r: memref<33x47xf32>) attributes {tilewright.inputs = 1 : i64} {
    affine.for %i = 0 to 32 {
      affine.for %k = 0 to 47 {
        %x = affine.load %a[%i, %k] : memref<33x47xf32>
        affine.store %x, %r[%i, %k] : memref<33x47xf32>
      }
    }
    return
  }
}

// -----

// A swapped buffer: the result is read, and the input is written.
module {
  // expected-error @+1 {{written: disproved: element [0] of argument 1 is never written}}
  func.func @swapped(%a: memref<8xf32>, %r: memref<8xf32>) attributes {tilewright.inputs = 1 : i64} {
    affine.for %i = 0 to 8 {
      %x = affine.load %r[%i] : memref<8xf32>
      affine.store %x, %a[%i] : memref<8xf32>
    }
    return
  }
}

// -----

// A step of the tiles that is one too small: two threads write a row.
module {
  func.func @twice(%a: memref<31x8xf32>, %r: memref<31x8xf32>) attributes {tilewright.inputs = 1 : i64} {
    affine.parallel (%i) = (0) to (5) {
      affine.for %j = 0 to 7 {
        affine.for %k = 0 to 8 {
          %x = affine.load %a[%i * 6 + %j, %k] : memref<31x8xf32>
          // expected-error @+1 {{written: disproved: writes argument 1 where another iteration of "thread" writes, where thread 0 = }}
          affine.store %x, %r[%i * 6 + %j, %k] : memref<31x8xf32>
        }
      }
    }
    return
  }
}

// -----

// A thread reads what another one writes.
module {
  func.func @reads(%a: memref<8xf32>, %r: memref<8xf32>) attributes {tilewright.inputs = 1 : i64} {
    affine.parallel (%i) = (0) to (8) {
      // expected-error @+1 {{written: disproved: reads argument 1 where another iteration of "thread" writes}}
      %x = affine.load %r[7 - %i] : memref<8xf32>
      affine.store %x, %r[%i] : memref<8xf32>
    }
    return
  }
}

// -----

// Whether it is written depends on data.
module {
  // expected-warning @+1 {{written: not proved: argument 2 is perhaps not written whole: it depends on a condition that is not affine}}
  func.func @perhaps(%a: memref<8xf32>, %b: memref<i1>, %r: memref<8xf32>) attributes {tilewright.inputs = 2 : i64} {
    %c = affine.load %b[] : memref<i1>
    scf.if %c {
      affine.for %i = 0 to 8 {
        %x = affine.load %a[%i] : memref<8xf32>
        affine.store %x, %r[%i] : memref<8xf32>
      }
    }
    return
  }
}
