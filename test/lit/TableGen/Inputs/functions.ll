; Functions of a 4 x 4 accumulator in two registers of two rows, sound and faulty.
%sums = type { <8 x float>, <8 x float> }

define %sums @zero() {
  ret %sums zeroinitializer
}
define %sums @fill(<4 x float> %0, <4 x float> %1, <4 x float> %2, <4 x float> %3) {
  %low = shufflevector <4 x float> %0, <4 x float> %1, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %high = shufflevector <4 x float> %2, <4 x float> %3, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %s = insertvalue %sums poison, <8 x float> %low, 0
  %t = insertvalue %sums %s, <8 x float> %high, 1
  ret %sums %t
}
define %sums @read(%sums %s) {
  ret %sums %s
}
define %sums @add(%sums %c, <8 x float> %a, <8 x float> %b) {
  ret %sums %c
}
define %sums @add_pairs(%sums %c, <4 x float> %high, <4 x float> %low, <8 x float> %b) {
  ret %sums %c
}

define %sums @branches(%sums %c, <8 x float> %a, <8 x float> %b) {
  br label %end
end:
  ret %sums %c
}
define %sums @calls(%sums %c, <8 x float> %a, <8 x float> %b) {
  %d = call %sums @add(%sums %c, <8 x float> %a, <8 x float> %b)
  ret %sums %d
}
define %sums @stack(%sums %c, <8 x float> %a, <8 x float> %b) {
  %p = alloca i64
  ret %sums %c
}
define void @nothing(%sums %c, <8 x float> %a, <8 x float> %b) {
  ret void
}
define <4 x float> @quarter(%sums %c, <8 x float> %a, <8 x float> %b) {
  ret <4 x float> zeroinitializer
}
define %sums @short(ptr %p, i32 %stride) {
  ret %sums zeroinitializer
}
declare %sums @declared(%sums, <8 x float>, <8 x float>)
