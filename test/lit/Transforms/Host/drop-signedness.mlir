// Launches have integers without signs; the function that keeps the manifest has the program's types.
//
// RUN: tw-opt %s -drop-signedness | FileCheck %s

// CHECK-LABEL: func.func private @launch
// CHECK-SAME: (%[[A:.*]]: memref<8xi8>, %[[B:.*]]: memref<?xi16>)
// CHECK: %[[X:.*]] = memref.load %[[A]][%{{.*}}] : memref<8xi8>
// CHECK-NOT: unrealized_conversion_cast
// CHECK: arith.extui %[[X]] : i8 to i16
// CHECK: memref.store %{{.*}}, %[[B]][%{{.*}}] : memref<?xi16>
func.func private @launch(%a: memref<8xui8>, %b: memref<?xsi16>) attributes {tilewright.launch = {shared = 0 : i64}} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<8xui8>
  %y = builtin.unrealized_conversion_cast %x : ui8 to i8
  %z = arith.extui %y : i8 to i16
  %s = builtin.unrealized_conversion_cast %z : i16 to si16
  memref.store %s, %b[%c0] : memref<?xsi16>
  return
}

// CHECK-LABEL: func.func @program
// CHECK-SAME: (%{{.*}}: memref<8xui8>, %{{.*}}: memref<?xsi16>)
func.func @program(%a: memref<8xui8>, %b: memref<?xsi16>) {
  return
}
