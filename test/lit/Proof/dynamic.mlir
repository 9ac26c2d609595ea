// RUN: tw-opt %s --prove --split-input-file --verify-diagnostics

// A grid of tiles as one number, of sizes that vary: g = q nt + r, nt = ceildiv(n, 64).
module {
  func.func @grid(%a: memref<?x?xf32>, %r: memref<?x?xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.shapes = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = memref.dim %a, %c0 : memref<?x?xf32>
    %n = memref.dim %a, %c1 : memref<?x?xf32>
    %nt = affine.apply affine_map<()[s0] -> (s0 ceildiv 64)>()[%n]
    affine.parallel (%g) = (0) to (symbol(%m) * (symbol(%n) ceildiv 64)) {
      %q = arith.divui %g, %nt : index
      %t = arith.remui %g, %nt : index
      %end = affine.min affine_map<()[s0, s1] -> (64, s1 - s0 * 64)>()[%t, %n]
      scf.for %e = %c0 to %end step %c1 {
        %j = affine.apply affine_map<()[s0, s1] -> (s0 * 64 + s1)>()[%t, %e]
        %x = memref.load %a[%q, %j] : memref<?x?xf32>
        memref.store %x, %r[%q, %j] : memref<?x?xf32>
      }
    }
    return
  }
}

// -----

// The same with a number of tiles that is one too large: the grid has fewer rows than the array.
module {
  // expected-warning @+1 {{written: not proved: argument 1 is perhaps not written whole}}
  func.func @rows(%a: memref<?x?xf32>, %r: memref<?x?xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.shapes = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = memref.dim %a, %c0 : memref<?x?xf32>
    %n = memref.dim %a, %c1 : memref<?x?xf32>
    %nt = affine.apply affine_map<()[s0] -> (s0 ceildiv 64 + 1)>()[%n]
    affine.parallel (%g) = (0) to (symbol(%m) * (symbol(%n) ceildiv 64)) {
      %q = arith.divui %g, %nt : index
      %t = arith.remui %g, %nt : index
      %end = affine.min affine_map<()[s0, s1] -> (64, s1 - s0 * 64)>()[%t, %n]
      scf.for %e = %c0 to %end step %c1 {
        %j = affine.apply affine_map<()[s0, s1] -> (s0 * 64 + s1)>()[%t, %e]
        %x = memref.load %a[%q, %j] : memref<?x?xf32>
        memref.store %x, %r[%q, %j] : memref<?x?xf32>
      }
    }
    return
  }
}

// -----

// The bound of the last tile is gone.
module {
  func.func @bound(%a: memref<?x?xf32>, %r: memref<?x?xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.shapes = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = memref.dim %a, %c0 : memref<?x?xf32>
    %n = memref.dim %a, %c1 : memref<?x?xf32>
    %nt = affine.apply affine_map<()[s0] -> (s0 ceildiv 64)>()[%n]
    affine.parallel (%g) = (0) to (symbol(%m) * (symbol(%n) ceildiv 64)) {
      %q = arith.divui %g, %nt : index
      %t = arith.remui %g, %nt : index
      %c64 = arith.constant 64 : index
      scf.for %e = %c0 to %c64 step %c1 {
        %j = affine.apply affine_map<()[s0, s1] -> (s0 * 64 + s1)>()[%t, %e]
        // expected-warning @+1 {{bounds: not proved: reads argument 0 beyond its end in dimension 1}}
        %x = memref.load %a[%q, %j] : memref<?x?xf32>
        // expected-warning @+1 {{bounds: not proved: writes argument 1 beyond its end in dimension 1}}
        memref.store %x, %r[%q, %j] : memref<?x?xf32>
      }
    }
    return
  }
}

// -----

// Tiles that overlap: a step of 63, so that two of them write a column.
module {
  func.func @twice(%a: memref<?x?xf32>, %r: memref<?x?xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.shapes = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = memref.dim %a, %c0 : memref<?x?xf32>
    %n = memref.dim %a, %c1 : memref<?x?xf32>
    %nt = affine.apply affine_map<()[s0] -> (s0 ceildiv 63)>()[%n]
    affine.parallel (%g) = (0) to (symbol(%m) * (symbol(%n) ceildiv 63)) {
      %q = arith.divui %g, %nt : index
      %t = arith.remui %g, %nt : index
      %end = affine.min affine_map<()[s0, s1] -> (64, s1 - s0 * 63)>()[%t, %n]
      scf.for %e = %c0 to %end step %c1 {
        %j = affine.apply affine_map<()[s0, s1] -> (s0 * 63 + s1)>()[%t, %e]
        %x = memref.load %a[%q, %j] : memref<?x?xf32>
        // expected-warning @+1 {{written: not proved: writes argument 1 where another iteration of "thread" writes}}
        memref.store %x, %r[%q, %j] : memref<?x?xf32>
      }
    }
    return
  }
}

// -----

// Rows shared by four cores, core c from c ceildiv(m, 4) on, and one whose share is a row short.
module {
  func.func @cores(%a: memref<?xf32>, %r: memref<?xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.shapes = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>]} {
    %c0 = arith.constant 0 : index
    %m = memref.dim %a, %c0 : memref<?xf32>
    tile.parallel (%c) to (4) level "core" {
      affine.for %i = affine_map<()[s0, s1] -> (s1 * (s0 ceildiv 4))>()[%m, %c] to min affine_map<()[s0, s1] -> ((s1 + 1) * (s0 ceildiv 4), s0)>()[%m, %c] {
        %x = affine.load %a[%i] : memref<?xf32>
        affine.store %x, %r[%i] : memref<?xf32>
      }
    }
    return
  }
}

// -----

module {
  // expected-warning @+1 {{written: not proved: argument 1 is perhaps not written whole}}
  func.func @short(%a: memref<?xf32>, %r: memref<?xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.shapes = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>]} {
    %c0 = arith.constant 0 : index
    %m = memref.dim %a, %c0 : memref<?xf32>
    tile.parallel (%c) to (4) level "core" {
      affine.for %i = affine_map<()[s0, s1] -> (s1 * (s0 ceildiv 4))>()[%m, %c] to min affine_map<()[s0, s1] -> ((s1 + 1) * (s0 ceildiv 4) - 1, s0)>()[%m, %c] {
        %x = affine.load %a[%i] : memref<?xf32>
        affine.store %x, %r[%i] : memref<?xf32>
      }
    }
    return
  }
}

// -----

// A share of floordiv(m, 4) rows leaves up to three rows to nobody.
module {
  // expected-warning @+1 {{written: not proved: argument 1 is perhaps not written whole}}
  func.func @floor(%a: memref<?xf32>, %r: memref<?xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.shapes = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>]} {
    %c0 = arith.constant 0 : index
    %m = memref.dim %a, %c0 : memref<?xf32>
    tile.parallel (%c) to (4) level "core" {
      affine.for %i = affine_map<()[s0, s1] -> (s1 * (s0 floordiv 4))>()[%m, %c] to affine_map<()[s0, s1] -> ((s1 + 1) * (s0 floordiv 4))>()[%m, %c] {
        %x = affine.load %a[%i] : memref<?xf32>
        affine.store %x, %r[%i] : memref<?xf32>
      }
    }
    return
  }
}

// -----

// A step that varies, of threads that take turns; what never runs is not read.
module {
  func.func @turns(%a: memref<?xf32>, %r: memref<?xf32>, %b: memref<?xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.shapes = [affine_map<(m, k) -> (m)>, affine_map<(m, k) -> (m)>, affine_map<(m, k) -> (k)>]} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %m = memref.dim %a, %c0 : memref<?xf32>
    %same = memref.dim %r, %c0 : memref<?xf32>
    %k = memref.dim %b, %c0 : memref<?xf32>
    affine.parallel (%t) = (0) to (symbol(%k)) {
      affine.store %zero, %b[%t] : memref<?xf32>
    }
    %equal = arith.cmpi eq, %m, %same : index
    affine.parallel (%i) = (0) to (symbol(%m)) {
      scf.if %equal {
        affine.store %zero, %r[%i] : memref<?xf32>
      } else {
        %before = arith.subi %c0, %m : index
        memref.store %zero, %r[%before] : memref<?xf32>
      }
    }
    affine.parallel (%t) = (0) to (symbol(%k)) {
      scf.for %i = %t to %m step %k {
        %x = memref.load %a[%i] : memref<?xf32>
      }
    }
    return
  }
}

// -----

// Two choices by data are two values, although they choose between the same numbers.
module {
  func.func @choices(%a: memref<2xf32>, %r: memref<8xf32>) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    %x = affine.load %a[0] : memref<2xf32>
    %p = arith.cmpf ogt, %x, %zero : f32
    %one = arith.select %p, %c0, %c4 : index
    affine.parallel (%i) = (0) to (4) {
      %y = affine.load %a[1] : memref<2xf32>
      %q = arith.cmpf ogt, %y, %zero : f32
      %other = arith.select %q, %c0, %c4 : index
      %difference = arith.subi %other, %one : index
      %at = arith.addi %difference, %i : index
      // expected-warning @+2 {{bounds: not proved: writes argument 1 before its begin in dimension 0}}
      // expected-warning @+1 {{bounds: not proved: writes argument 1 beyond its end in dimension 0}}
      memref.store %zero, %r[%at] : memref<8xf32>
      // expected-warning @-1 {{written: not proved: writes argument 1 where another iteration of "thread" writes}}
    }
    return
  }
}
