define <4 x float> @add(<4 x float> %a) {
  %b = fadd <4 x float> %a, %c
  ret <4 x float> %b
}
