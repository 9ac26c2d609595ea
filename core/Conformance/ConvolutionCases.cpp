//===- ConvolutionCases.cpp - Convolutions --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Two dimensions with strides and dilations, channels last or first, and by channel
/// (depthwise). The bound is that of a product with K = taps x channels.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Case.h"
#include "core/Conformance/ProgramText.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::conformance;
using T = ElementType;

namespace {

struct Convolution {
  T in, weight, out;
  Dim n;
  int64_t height, width, channels, filters, taps; // taps x taps
  int64_t stride = 1, dilation = 1;
  bool channelsFirst = false, depthwise = false;

  int64_t extent(int64_t size) const { return (size - dilation * (taps - 1) - 1) / stride + 1; }
  int64_t results() const { return depthwise ? channels : filters; }
  Dims image(int64_t h, int64_t w, int64_t c) const {
    return channelsFirst ? Dims{n, {c}, {h}, {w}} : Dims{n, {h}, {w}, {c}};
  }
  Dims dimsIn() const { return image(height, width, channels); }
  Dims dimsOut() const { return image(extent(height), extent(width), results()); }
  Dims dimsWeight() const {
    if (depthwise)
      return {{taps}, {taps}, {channels}};
    return channelsFirst ? Dims{{filters}, {channels}, {taps}, {taps}} : Dims{{taps}, {taps}, {channels}, {filters}};
  }
  /// Row-major position in an image.
  int64_t at(int64_t b, int64_t y, int64_t x, int64_t c, int64_t h, int64_t w, int64_t count) const {
    return channelsFirst ? ((b * count + c) * h + y) * w + x : ((b * h + y) * w + x) * count + c;
  }
  int64_t weightAt(int64_t y, int64_t x, int64_t c, int64_t f) const {
    if (depthwise)
      return (y * taps + x) * channels + c;
    return channelsFirst ? ((f * channels + c) * taps + y) * taps + x : ((y * taps + x) * channels + c) * filters + f;
  }
};

/// Loops: d0 image, d1 row, d2 column, d3 filter (or channel), d4 d5 taps, d6 channel.
std::string write(ProgramText &text, const Convolution &v) {
  std::string in = text.input(v.in, v.dimsIn()), weight = text.input(v.weight, v.dimsWeight());
  std::string start = text.filled(v.out, v.dimsOut(), isFloat(v.out) ? "0.0" : "0");
  std::string stride = " * " + std::to_string(v.stride) + " + ", dilation = " * " + std::to_string(v.dilation);
  std::string y = "d1" + stride + "d4" + dilation, x = "d2" + stride + "d5" + dilation;
  std::string channel = v.depthwise ? "d3" : "d6";
  auto image = [&](const std::string &row, const std::string &column, const std::string &c) {
    return "d0, " + (v.channelsFirst ? c + ", " + row + ", " + column : row + ", " + column + ", " + c);
  };
  std::string taps = v.depthwise ? "d4, d5, d3" : v.channelsFirst ? "d3, d6, d4, d5" : "d4, d5, d6, d3";
  return text.generic(v.depthwise ? 6 : 7, v.depthwise ? 2 : 3,
                      {{in, v.in, v.dimsIn(), image(y, x, channel)}, {weight, v.weight, v.dimsWeight(), taps}},
                      {start, v.out, v.dimsOut(), image("d1", "d2", "d3")}, [&](const std::vector<std::string> &e) {
                        std::string suffix = isFloat(v.out) ? "f " : "i ", type = " : " + mlirName(v.out);
                        std::string product = text.add("arith.mul" + suffix + text.convert(e[0], v.in, v.out) + ", " +
                                                       text.convert(e[1], v.weight, v.out) + type);
                        return text.add("arith.add" + suffix + product + ", " + e[2] + type);
                      });
}

Expected expectConvolution(const Convolution &v, const Arrays &inputs) {
  int64_t rows = v.extent(v.height), columns = v.extent(v.width), results = v.results();
  int64_t depth = v.depthwise ? 1 : v.channels;
  Expected expected(v.n.size * rows * columns * results);
  for (int64_t b = 0; b < v.n.size; ++b)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        for (int64_t f = 0; f < results; ++f) {
          double sum = 0, magnitude = 0;
          bool open = false; // nothing can be said
          for (int64_t y = 0; y < v.taps; ++y)
            for (int64_t x = 0; x < v.taps; ++x)
              for (int64_t c = 0; c < depth; ++c) {
                int64_t channel = v.depthwise ? f : c;
                double value =
                           inputs[0].get(v.at(b, row * v.stride + y * v.dilation, column * v.stride + x * v.dilation,
                                              channel, v.height, v.width, v.channels)),
                       weight = inputs[1].get(v.weightAt(y, x, channel, f)), product = value * weight;
                open |= dependsOnFlush(value, v.in, weight, v.weight);
                sum += product;
                magnitude += std::fabs(product);
              }
          int64_t at = v.at(b, row, column, f, rows, columns, results);
          expected.value[at] = sum;
          expected.bound[at] = open             ? INFINITY
                               : isFloat(v.out) ? sumBound(computeType(v.out), v.taps * v.taps * depth, magnitude)
                                                : 0;
        }
  return expected;
}

} // namespace

void conformance::addConvolutions(std::vector<Case> &cases) {
  const T types[][3] = {
      {T::F32, T::F32, T::F32}, {T::F16, T::F16, T::F32}, {T::BF16, T::BF16, T::F32}, {T::I8, T::I8, T::I32}};
  size_t number = 0;
  for (const auto &type : types)
    for (int64_t stride : {1, 2})
      for (int64_t dilation : {1, 2})
        for (bool channelsFirst : {false, true})
          for (bool depthwise : {false, true}) {
            Convolution v{type[0], type[1], type[2], {2}, 11, 13, 6, 9, 3, stride, dilation, channelsFirst, depthwise};
            if (stride == 2 && dilation == 1)
              v.n = {2, "b"};
            ProgramText text;
            std::string result = write(text, v);
            std::vector<Values> values = {Values::Random, Values::Extreme};
            if (isFloat(v.in))
              values.push_back(Values::Special);
            CaseProgram program{text.finish(result, v.out, v.dimsOut()),
                                {{v.in, sizesOf(v.dimsIn())}, {v.weight, sizesOf(v.dimsWeight())}},
                                v.out,
                                sizesOf(v.dimsOut()),
                                [v](const Arrays &inputs) { return expectConvolution(v, inputs); },
                                values};
            std::string layout = std::string(channelsFirst ? "nchw" : "nhwc") + "-s" + std::to_string(stride) + "-d" +
                                 std::to_string(dilation);
            cases.push_back({"convolution",
                             depthwise ? "depthwise" : "conv2d",
                             std::string(nameOf(v.in)) + "." + nameOf(v.weight) + "." + nameOf(v.out),
                             shapeName(v.dimsIn()) + "-" + std::to_string(v.filters) + "f3",
                             layout,
                             number++ % 7 == 0,
                             program,
                             {}});
          }
}
