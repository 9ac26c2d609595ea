// RUN: tw-opt %s --prove --split-input-file --verify-diagnostics

// Bounds of loops, of masks, of divisions: all of it is inside.
module {
  func.func @inside(%a: memref<33x47xf32>, %b: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %b, %c0 : memref<?xf32>
    %zero = arith.constant dense<0.0> : vector<16xf32>
    affine.for %i = 0 to 5 {
      affine.for %j = 0 to min affine_map<(d0) -> (7, -d0 * 7 + 33)>(%i) {
        %x = affine.load %a[%i * 7 + %j, 46] : memref<33x47xf32>
      }
    }
    affine.for %i = 0 to affine_map<()[s0] -> (s0 ceildiv 16)>()[%n] {
      %first = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
      %left = arith.subi %n, %first : index
      %mask = vector.create_mask %left : vector<16xi1>
      vector.maskedstore %b[%first], %mask, %zero : memref<?xf32>, vector<16xi1>, vector<16xf32>
    }
    return
  }
}

// -----

// A bound that is one too large.
module {
  func.func @bound(%a: memref<33x47xf32>) {
    affine.for %i = 0 to 34 {
      // expected-error @+1 {{bounds: disproved: reads argument 0 beyond its end in dimension 0, where i0 = 33}}
      %x = affine.load %a[%i, 46] : memref<33x47xf32>
    }
    return
  }
}

// -----

// An offset.
module {
  func.func @offset(%a: memref<8x16xf32>) {
    affine.for %i = 0 to 8 {
      // expected-error @+1 {{bounds: disproved: reads argument 0 before its begin in dimension 0, where i0 = 0}}
      %x = affine.load %a[%i - 1, 0] : memref<8x16xf32>
    }
    return
  }
}

// -----

// A mask that is gone: the last vector goes beyond the array.
module {
  func.func @mask(%b: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %b, %c0 : memref<?xf32>
    affine.for %i = 0 to affine_map<()[s0] -> (s0 ceildiv 16)>()[%n] {
      // expected-error @+1 {{bounds: disproved: reads argument 0 beyond its end in dimension 0, where argument 0 dimension 0 = }}
      %x = affine.vector_load %b[%i * 16] : memref<?xf32>, vector<16xf32>
    }
    return
  }
}

// -----

// A vector may go on in the next row, but not behind the last one.
module {
  func.func @rows(%a: memref<4x8xf32>) {
    affine.for %i = 0 to 3 {
      %x = affine.vector_load %a[%i, 4] : memref<4x8xf32>, vector<8xf32>
    }
    affine.for %i = 0 to 4 {
      // expected-error @+1 {{bounds: disproved: reads argument 0 beyond its end in dimension 1}}
      %x = affine.vector_load %a[%i, 4] : memref<4x8xf32>, vector<8xf32>
    }
    return
  }
}

// -----

// Indices of data are listed.
module {
  func.func @gather(%a: memref<8xf32>, %b: memref<4xindex>, %c: memref<4xf32>) {
    affine.for %i = 0 to 4 {
      %at = affine.load %b[%i] : memref<4xindex>
      // expected-warning @+2 {{bounds: not proved: reads argument 0 before its begin in dimension 0: a value of data}}
      // expected-warning @+1 {{bounds: not proved: reads argument 0 beyond its end in dimension 0: a value of data}}
      %x = memref.load %a[%at] : memref<8xf32>
      affine.store %x, %c[%i] : memref<4xf32>
    }
    return
  }
}

// -----

// What is not understood proves nothing.
module {
  func.func private @elsewhere(memref<8xf32>)
  func.func @calls(%a: memref<8xf32>) {
    // expected-warning @+4 {{bounds: not proved: calls 'elsewhere', whose accesses are not known}}
    // expected-warning @+3 {{awaited: not proved: calls 'elsewhere', whose accesses are not known}}
    // expected-warning @+2 {{free: not proved: calls 'elsewhere', whose accesses are not known}}
    // expected-warning @+1 {{written: not proved: calls 'elsewhere', whose accesses are not known}}
    call @elsewhere(%a) : (memref<8xf32>) -> ()
    return
  }
}
