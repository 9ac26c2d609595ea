// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of IEEE single precision for the datapaths: round to nearest even; numbers below 2^-126 are zero.
package arithmetic;

  /// +-m * 2^(e - 150 - 27): rounds a magnitude of 51 bits to 24 and packs it.
  function automatic logic [31:0] pack(input logic sign, input logic signed [11:0] exponent, input logic [50:0] magnitude);
    logic [50:0] m;
    logic signed [11:0] e;
    logic [24:0] rounded;
    m = magnitude;
    e = exponent;
    if (m == 0) return {sign, 31'b0};
    // The leading one goes to bit 50, where the exponent of the number is e + 50 - 27 - 23 = e.
    if (m[50:19] == 0) begin m = m << 32; e = e - 32; end
    if (m[50:35] == 0) begin m = m << 16; e = e - 16; end
    if (m[50:43] == 0) begin m = m << 8; e = e - 8; end
    if (m[50:47] == 0) begin m = m << 4; e = e - 4; end
    if (m[50:49] == 0) begin m = m << 2; e = e - 2; end
    if (!m[50]) begin m = m << 1; e = e - 1; end
    rounded = {1'b0, m[50:27]};
    if (m[26] && (m[25:0] != 0 || m[27])) rounded = rounded + 1;
    if (rounded[24]) begin rounded = rounded >> 1; e = e + 1; end
    if (e >= 255) return {sign, 8'hff, 23'b0};
    if (e <= 0) return {sign, 31'b0};
    return {sign, e[7:0], rounded[22:0]};
  endfunction

  function automatic logic [31:0] add(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] greater, lesser;
    logic [50:0] ml, ms, lost;
    logic [7:0] distance;
    if (a[30:23] == 8'hff || b[30:23] == 8'hff) begin
      if (a[30:0] > 31'h7f800000) return a | 32'h00400000;
      if (b[30:0] > 31'h7f800000) return b | 32'h00400000;
      if (a[30:23] == 8'hff) return b[30:23] == 8'hff && a[31] != b[31] ? 32'h7fc00000 : a;
      return b;
    end
    if (a[30:0] >= b[30:0]) begin greater = a; lesser = b; end
    else begin greater = b; lesser = a; end
    if (lesser[30:23] == 0) return greater[30:23] != 0 ? greater : {a[31] & b[31], 31'b0};
    distance = greater[30:23] - lesser[30:23];
    // One bit is left for the carry: magnitudes begin at bit 49.
    ml = {1'b0, 1'b1, greater[22:0], 26'b0};
    ms = {1'b0, 1'b1, lesser[22:0], 26'b0};
    lost = distance >= 50 ? ms : ms & ((51'b1 << distance) - 1);
    ms = distance >= 50 ? 51'b0 : ms >> distance;
    ms[0] = ms[0] | (lost != 0);
    if (greater[31] == lesser[31]) return pack(greater[31], {4'b0, greater[30:23]} + 1, ml + ms);
    if (ml == ms) return 32'b0;
    return pack(greater[31], {4'b0, greater[30:23]} + 1, ml - ms);
  endfunction

  function automatic logic [31:0] multiply(input logic [31:0] a, input logic [31:0] b);
    logic [47:0] product;
    logic sign;
    sign = a[31] ^ b[31];
    if (a[30:23] == 8'hff || b[30:23] == 8'hff) begin
      if (a[30:0] > 31'h7f800000 || b[30:0] > 31'h7f800000) return 32'h7fc00000;
      if (a[30:23] == 0 || b[30:23] == 0) return 32'h7fc00000;
      return {sign, 8'hff, 23'b0};
    end
    if (a[30:23] == 0 || b[30:23] == 0) return {sign, 31'b0};
    product = {1'b1, a[22:0]} * {1'b1, b[22:0]};
    return pack(sign, {4'b0, a[30:23]} + {4'b0, b[30:23]} - 126, {product, 3'b0});
  endfunction

  function automatic logic [31:0] fromInteger(input logic signed [31:0] value);
    logic [31:0] magnitude;
    magnitude = value < 0 ? -value : value;
    return pack(value[31], 158, {magnitude, 19'b0});
  endfunction

  /// To the nearest whole number, ties to even.
  function automatic logic [31:0] round(input logic [31:0] a);
    logic [7:0] below;
    logic [23:0] m, whole, part;
    if (a[30:23] >= 150) return a;
    if (a[30:23] < 126) return {a[31], 31'b0};
    below = 150 - a[30:23]; // bits after the point: 1 to 24
    m = {1'b1, a[22:0]};
    whole = below >= 24 ? 24'b0 : m >> below;
    part = below >= 24 ? m : m & ((24'b1 << below) - 1);
    if (part > (24'b1 << (below - 1)) || (part == (24'b1 << (below - 1)) && whole[0])) whole = whole + 1;
    return pack(a[31], 150, {whole, 27'b0});
  endfunction

  /// A whole number to i8, saturated; not a number gives the least.
  function automatic logic [7:0] saturate(input logic [31:0] a);
    logic [31:0] whole;
    if (a[30:0] > 31'h7f800000) return 8'h80;
    if (a[30:23] >= 134) return a[31] ? 8'h80 : 8'h7f;
    if (a[30:23] < 127) return 8'h00;
    whole = {8'b0, 1'b1, a[22:0]} >> (150 - a[30:23]);
    return a[31] ? -whole[7:0] : whole[7:0];
  endfunction

endpackage
