// RUN: tw-opt %s --count-sums=size=100 -o /dev/null | FileCheck %s

// Additions in a row, which --prove compares with those of the program after stage 2.
module {
  // One after the other: as many as the array has elements.
  func.func @in_order(%a: memref<?xf32>, %s: memref<f32>) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %zero = arith.constant 0.0 : f32
    affine.store %zero, %s[] : memref<f32>
    affine.for %i = 0 to %n {
      %x = affine.load %a[%i] : memref<?xf32>
      %old = affine.load %s[] : memref<f32>
      // CHECK-DAG: in order{{.*}}: 100{{$}}
      %new = arith.addf %old, %x : f32
      affine.store %new, %s[] : memref<f32>
    } loc("in order")
    return
  }

  // Into one of two arrays, as in a launch of equal grids.
  func.func @chosen(%a: memref<70xf32>, %s: memref<f32>, %t: memref<f32>, %first: i1) {
    %r = arith.select %first, %s, %t : memref<f32>
    affine.for %i = 0 to 70 {
      %x = affine.load %a[%i] : memref<70xf32>
      %old = affine.load %r[] : memref<f32>
      // CHECK-DAG: chosen{{.*}}: 70{{$}}
      %new = arith.addf %old, %x : f32
      affine.store %new, %r[] : memref<f32>
    } loc("chosen")
    return
  }

  // Sixteen partial sums, then the sum of these.
  func.func @in_parts(%a: memref<1000x16xf32>, %s: memref<f32>) {
    %zeros = arith.constant dense<0.0> : vector<16xf32>
    %parts = affine.for %i = 0 to 1000 iter_args(%old = %zeros) -> vector<16xf32> {
      %x = affine.vector_load %a[%i, 0] : memref<1000x16xf32>, vector<16xf32>
      %new = arith.addf %old, %x : vector<16xf32> loc("parts")
      affine.yield %new : vector<16xf32>
    } loc("parts")
    // CHECK-DAG: parts{{.*}}: 1015 in any order
    %sum = vector.reduction <add>, %parts fastmath<reassoc> : vector<16xf32> into f32 loc("parts")
    affine.store %sum, %s[] : memref<f32>
    return
  }

  // A sum of each row: rows have nothing of each other, wherever they are kept.
  func.func @rows(%a: memref<30x50xf32>, %s: memref<30xf32>) {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 30 {
      affine.store %zero, %s[%i] : memref<30xf32>
    } loc("rows")
    affine.for %j = 0 to 50 {
      affine.for %i = 0 to 30 {
        %x = affine.load %a[%i, %j] : memref<30x50xf32>
        %old = affine.load %s[%i] : memref<30xf32>
        // CHECK-DAG: rows{{.*}}: 50{{$}}
        %new = arith.addf %old, %x : f32
        affine.store %new, %s[%i] : memref<30xf32>
      }
    } loc("rows")
    return
  }

  // A running sum: each element has those before it.
  func.func @running(%a: memref<40xf32>) {
    affine.for %i = 1 to 40 {
      %x = affine.load %a[%i] : memref<40xf32>
      %before = affine.load %a[%i - 1] : memref<40xf32>
      // CHECK-DAG: running{{.*}}: 39{{$}}
      %new = arith.addf %before, %x : f32
      affine.store %new, %a[%i] : memref<40xf32>
    } loc("running")
    return
  }

  // A triangle: the longest row counts.
  func.func @triangle(%a: memref<20x20xf32>, %s: memref<20xf32>) {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 20 {
      affine.store %zero, %s[%i] : memref<20xf32>
      affine.for %j = 0 to affine_map<(d0) -> (d0 + 1)>(%i) {
        %x = affine.load %a[%i, %j] : memref<20x20xf32>
        %old = affine.load %s[%i] : memref<20xf32>
        // CHECK-DAG: triangle{{.*}}: 20{{$}}
        %new = arith.addf %old, %x : f32
        affine.store %new, %s[%i] : memref<20xf32>
      }
    } loc("triangle")
    return
  }

  // A buffer that is used again is empty again; what is added up after the loop adds to it.
  func.func @buffer(%a: memref<8x64xf32>, %s: memref<8xf32>) {
    %zero = arith.constant 0.0 : f32
    %b = memref.alloc() : memref<4xf32>
    affine.for %i = 0 to 8 {
      affine.for %l = 0 to 4 {
        affine.store %zero, %b[%l] : memref<4xf32>
      }
      affine.for %k = 0 to 16 {
        affine.for %l = 0 to 4 {
          %x = affine.load %a[%i, %k * 4 + %l] : memref<8x64xf32>
          %old = affine.load %b[%l] : memref<4xf32>
          %new = arith.addf %old, %x : f32
          affine.store %new, %b[%l] : memref<4xf32>
        }
      }
      affine.store %zero, %s[%i] : memref<8xf32>
      affine.for %l = 0 to 4 {
        %x = affine.load %b[%l] : memref<4xf32>
        %old = affine.load %s[%i] : memref<8xf32>
        // CHECK-DAG: buffer{{.*}}: 20{{$}}
        %new = arith.addf %old, %x : f32
        affine.store %new, %s[%i] : memref<8xf32>
      }
    } loc("buffer")
    return
  }

  // Threads that each add up a part, which one of them puts together.
  func.func @threads(%a: memref<64x10xf32>, %s: memref<f32>) {
    %zero = arith.constant 0.0 : f32
    %parts = memref.alloc() : memref<64xf32>
    affine.parallel (%t) = (0) to (64) {
      %part = affine.for %k = 0 to 10 iter_args(%old = %zero) -> f32 {
        %x = affine.load %a[%t, %k] : memref<64x10xf32>
        %new = arith.addf %old, %x : f32 loc("threads")
        affine.yield %new : f32
      } loc("threads")
      affine.store %part, %parts[%t] : memref<64xf32>
    }
    %sum = affine.for %t = 0 to 64 iter_args(%old = %zero) -> f32 {
      %x = affine.load %parts[%t] : memref<64xf32>
      // CHECK-DAG: threads{{.*}}: 74{{$}}
      %new = arith.addf %old, %x : f32 loc("threads")
      affine.yield %new : f32
    } loc("threads")
    affine.store %sum, %s[] : memref<f32>
    return
  }

  // What data decides is told.
  func.func @data(%a: memref<8xf32>, %n: memref<index>, %s: memref<f32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %end = memref.load %n[] : memref<index>
    // CHECK-DAG: sums.mlir":[[@LINE+1]]:12: the number of iterations is not known
    %sum = scf.for %i = %c0 to %end step %c1 iter_args(%old = %zero) -> f32 {
      %x = memref.load %a[%i] : memref<8xf32>
      %new = arith.addf %old, %x : f32
      scf.yield %new : f32
    }
    memref.store %sum, %s[] : memref<f32>
    return
  }
}
