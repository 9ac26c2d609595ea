// RUN: tw-opt %s --lower-parallel --split-input-file | FileCheck %s

// Kernels tell when they and the parts of their threads run; a thread has ended before it waits for the others. Sites are kernels by name and
// location.
// CHECK: #[[PLACE:.+]] = loc("{{.*}}lower-parallel-traced.mlir":
// CHECK: #[[SITE:.+]] = loc("k"(#[[PLACE]]))
// CHECK: module attributes {{.*}}tilewright.traced = [#[[SITE]]]
module attributes {tilewright.threads = 4 : i64, tilewright.traced = []} {
  // CHECK-LABEL: func.func private @k
  // CHECK-NEXT: %[[NUMBER:.+]] = arith.constant 0 : i64
  // CHECK-NEXT: %[[BEGIN:.+]] = arith.constant 0 : i64
  // CHECK-NEXT: call @tilewright_trace_kernel(%[[NUMBER]], %[[BEGIN]]) : (i64, i64) -> ()
  // CHECK: omp.parallel
  // CHECK: %[[THREAD_BEGIN:.+]] = arith.constant 2 : i64
  // CHECK: call @tilewright_trace_kernel(%{{.+}}, %[[THREAD_BEGIN]])
  // CHECK: omp.wsloop nowait
  // CHECK: %[[THREAD_END:.+]] = arith.constant 3 : i64
  // CHECK: call @tilewright_trace_kernel(%{{.+}}, %[[THREAD_END]])
  // CHECK-NEXT: omp.terminator
  // CHECK: %[[END:.+]] = arith.constant 1 : i64
  // CHECK: call @tilewright_trace_kernel(%{{.+}}, %[[END]])
  // CHECK-NEXT: return
  func.func private @k(%a: memref<8xf32>, %x: f32) attributes {tilewright.kernel} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
      memref.store %x, %a[%i] : memref<8xf32>
      scf.reduce
    }
    return
  }
  // What is no kernel tells nothing.
  // CHECK-LABEL: func.func @f
  // CHECK-NOT: trace
  // CHECK: return
  func.func @f(%a: memref<8xf32>, %x: f32) {
    call @k(%a, %x) : (memref<8xf32>, f32) -> ()
    return
  }
  // CHECK: func.func private @tilewright_trace_kernel(i64, i64)
}

// -----

// Without the attribute nothing is added.
// CHECK-NOT: trace_kernel
func.func private @untraced(%a: memref<8xf32>, %x: f32) attributes {tilewright.kernel} {
  %c0 = arith.constant 0 : index
  memref.store %x, %a[%c0] : memref<8xf32>
  return
}
