// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright tw-opt %s -split-input-file -use-vector-ops-in-loops -canonicalize | FileCheck %s

module attributes {tilewright.target = "accelerator:npu"} {
  // Sixteen elements at a time; scales and zero points that are the same everywhere are written once. Four steps are
  // left over of 100, as they stood.
  // CHECK-LABEL: func.func @rows
  // CHECK-DAG: %[[C96:.*]] = arith.constant 96 : index
  // CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 3.000000e+00 : f32
  // CHECK: scf.for %{{.*}} = %{{.*}} to %[[C16]]
  // CHECK: scf.for %[[L0:.*]] = %{{.*}} to %[[C16]]
  // CHECK-NEXT: memref.store %[[ZERO]], %[[ZEROS:.*]][%[[L0]]] : memref<16xf32>
  // CHECK: scf.for %[[BASE:.*]] = %{{.*}} to %[[C96]] step %[[C16]]
  // CHECK:   scf.for %[[LANE:.*]] = %{{.*}} to %[[C16]]
  // CHECK-NEXT: %[[I:.*]] = arith.addi %[[BASE]], %[[LANE]]
  // CHECK-NEXT: %[[X:.*]] = memref.load %{{.*}}[%[[I]]] : memref<100xi32>
  // CHECK-NEXT: memref.store %[[X]], %{{.*}}[%[[LANE]]] : memref<16xi32>
  // CHECK-NEXT: }
  // CHECK:   func.call @tilewright.vector.accelerator.requantize_i32(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  // CHECK:   scf.for %[[LANE2:.*]] = %{{.*}} to %[[C16]]
  // CHECK-NEXT: %[[I2:.*]] = arith.addi %[[BASE]], %[[LANE2]]
  // CHECK-NEXT: %[[Q:.*]] = memref.load %{{.*}}[%[[LANE2]]] : memref<16xi8>
  // CHECK-NEXT: memref.store %[[Q]], %{{.*}}[%[[I2]]] : memref<100xi8>
  // CHECK: scf.for %{{.*}} = %[[C96]] to
  // CHECK: math.roundeven
  // CHECK: arith.fptosi
  func.func @rows(%x: memref<100xi32>, %q: memref<100xi8>, %scale: f32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c100 = arith.constant 100 : index
    %zero = arith.constant 3.0 : f32
    %least = arith.constant -128.0 : f32
    %most = arith.constant 127.0 : f32
    scf.for %i = %c0 to %c100 step %c1 {
      %v = memref.load %x[%i] : memref<100xi32>
      %w = arith.sitofp %v : i32 to f32
      %s = arith.mulf %w, %scale : f32
      %r = math.roundeven %s : f32
      %z = arith.addf %r, %zero : f32
      %l = arith.maximumf %z, %least : f32
      %h = arith.minimumf %l, %most : f32
      %t = arith.fptosi %h : f32 to i8
      memref.store %t, %q[%i] : memref<100xi8>
    }
    return
  }
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  // A clamp that is tighter than the type stays, as one of integers; 64 steps leave none over.
  // CHECK-LABEL: func.func @tight
  // CHECK: call @tilewright.vector.accelerator.requantize_f32(
  // CHECK: arith.maxsi %{{.*}}, %c0_i8
  // CHECK-NOT: arith.fptosi
  func.func @tight(%x: memref<64xf32>, %q: memref<64xi8>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %least = arith.constant 0.0 : f32
    %most = arith.constant 127.0 : f32
    scf.for %i = %c0 to %c64 step %c1 {
      %v = memref.load %x[%i] : memref<64xf32>
      %r = math.roundeven %v : f32
      %l = arith.maximumf %r, %least : f32
      %h = arith.minimumf %l, %most : f32
      %t = arith.fptosi %h : f32 to i8
      memref.store %t, %q[%i] : memref<64xi8>
    }
    return
  }

  // What the loop writes is read by later steps; another rounding; too few steps: all stay.
  // CHECK-LABEL: func.func @kept
  // CHECK-NOT: tilewright.vector
  // CHECK: return
  func.func @kept(%x: memref<64xf32>, %q: memref<64xi8>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c63 = arith.constant 63 : index
    %least = arith.constant -128.0 : f32
    %most = arith.constant 127.0 : f32
    scf.for %i = %c0 to %c63 step %c1 {
      %v = memref.load %x[%i] : memref<64xf32>
      %r = math.roundeven %v : f32
      %l = arith.maximumf %r, %least : f32
      %h = arith.minimumf %l, %most : f32
      %t = arith.fptosi %h : f32 to i8
      memref.store %t, %q[%i] : memref<64xi8>
      %next = arith.addi %i, %c1 : index
      memref.store %h, %x[%next] : memref<64xf32>
    }
    scf.for %i = %c0 to %c63 step %c1 {
      %v = memref.load %x[%i] : memref<64xf32>
      %r = math.floor %v : f32
      %l = arith.maximumf %r, %least : f32
      %h = arith.minimumf %l, %most : f32
      %t = arith.fptosi %h : f32 to i8
      memref.store %t, %q[%i] : memref<64xi8>
    }
    scf.for %i = %c0 to %c8 step %c1 {
      %v = memref.load %x[%i] : memref<64xf32>
      %r = math.roundeven %v : f32
      %l = arith.maximumf %r, %least : f32
      %h = arith.minimumf %l, %most : f32
      %t = arith.fptosi %h : f32 to i8
      memref.store %t, %q[%i] : memref<64xi8>
    }
    return
  }
}
