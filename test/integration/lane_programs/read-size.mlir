// The number of rows is a float that is read: one lane makes an integer of it, the host reads that.
func.func @rows(%x: tensor<?x16xf32>, %f: tensor<f32>) -> tensor<?x16xf32> {
  %v = tensor.extract %f[] : tensor<f32>
  %i = arith.fptosi %v : f32 to i64
  %n = arith.index_cast %i : i64 to index
  %s = tensor.extract_slice %x[0, 0] [%n, 16] [1, 1] : tensor<?x16xf32> to tensor<?x16xf32>
  %r = arith.addf %s, %s : tensor<?x16xf32>
  return %r : tensor<?x16xf32>
}
