//===- NpyTest.cpp - NumPy array files ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Round trips, foreign byte orders and column order, and the message of every
/// malformed file.
///
//===----------------------------------------------------------------------===//

#include "core/Runtime/Npy.h"

#include "gtest/gtest.h"
#include <cmath>
#include <limits>

namespace npy_test {

using namespace tilewright;

namespace {

/// A version 1 file around a header dictionary and data.
std::string file(std::string header, const std::string &data) {
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

std::string errorOf(const std::string &bytes, bool bfloat = false) {
  std::string error;
  EXPECT_FALSE(parseNpy(bytes, bfloat, error).has_value());
  return error;
}

TEST(Npy, RoundTripOfEveryType) {
  for (ElementType type : {ElementType::Bool, ElementType::I8, ElementType::I16, ElementType::I32, ElementType::I64,
                           ElementType::U8, ElementType::U16, ElementType::U32, ElementType::U64, ElementType::F16,
                           ElementType::BF16, ElementType::F32, ElementType::F64}) {
    Array array(type, {2, 0, 3});
    std::string error;
    auto empty = parseNpy(formatNpy(array), type == ElementType::BF16, error);
    ASSERT_TRUE(empty.has_value()) << error;
    EXPECT_EQ(empty->describe(), array.describe());

    array = Array(type, {5});
    for (int64_t i = 0; i < 5; ++i)
      array.set(i, type == ElementType::Bool ? i % 2 : static_cast<double>(i));
    auto copy = parseNpy(formatNpy(array), type == ElementType::BF16, error);
    ASSERT_TRUE(copy.has_value()) << error;
    EXPECT_EQ(copy->describe(), array.describe());
    for (int64_t i = 0; i < 5; ++i)
      EXPECT_EQ(copy->get(i), array.get(i));
  }
}

TEST(Npy, ScalarAndAlignment) {
  Array array(ElementType::F32, {});
  array.set(0, 2.5);
  std::string bytes = formatNpy(array), error;
  EXPECT_EQ((bytes.size() - 4) % 64, 0u);
  auto copy = parseNpy(bytes, false, error);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->describe(), "f32[]");
  EXPECT_EQ(copy->get(0), 2.5);
}

TEST(Npy, ForeignOrders) {
  std::string error;
  auto swapped = parseNpy(file("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", std::string("\0\1\2\0", 4)),
                          false, error);
  ASSERT_TRUE(swapped.has_value()) << error;
  EXPECT_EQ(swapped->get(0), 1);
  EXPECT_EQ(swapped->get(1), 512);
  auto columns = parseNpy(
      file("{'shape': (2, 3), 'fortran_order': True, 'descr': '|u1'}", std::string("\0\3\1\4\2\5", 6)), false, error);
  ASSERT_TRUE(columns.has_value()) << error;
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(columns->get(i), static_cast<double>(i));
}

TEST(Npy, Messages) {
  EXPECT_EQ(errorOf(""), "is no .npy file: it does not begin with \\x93NUMPY");
  EXPECT_EQ(errorOf(std::string("\x93NUMPY\x09\x00\x00\x00", 10)), "has format version 9; expected 1, 2 or 3");
  EXPECT_EQ(errorOf(std::string("\x93NUMPY\x01\x00\xff\x00{", 11)), "is cut off inside its header");
  EXPECT_EQ(errorOf(file("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "1234")),
            "holds 4 bytes of data; its header promises 12");
  EXPECT_EQ(errorOf(file("{'descr': '<c8', 'fortran_order': False, 'shape': ()}", "12345678")),
            "has element type '<c8'; expected b1, i1 to i8, u1 to u8, f2, f4 or f8 (bf16: u2 in a file named "
            "*.bf16.npy; 8-bit floats: u1, V1 or f1)");
  EXPECT_EQ(errorOf(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "")),
            "structured element types are not supported; expected one number type such as '<f4'");
  EXPECT_EQ(errorOf(file("{'descr': '<f4', 'shape': ()}", "")),
            "has a header without 'descr', 'fortran_order' or 'shape'");
  EXPECT_EQ(errorOf(file("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999, 99999999999999)}", "")),
            "has a shape whose size in bytes overflows");
}

TEST(Npy, BytesOfShortFloats) {
  std::string error;
  for (ElementType type : {ElementType::F8E4M3FN, ElementType::F8E5M2, ElementType::F8E4M3FNUZ, ElementType::F8E5M2FNUZ,
                           ElementType::F8E8M0FNU}) {
    Array array(type, {3});
    for (int64_t i = 0; i < 3; ++i)
      array.set(i, 1.5 * static_cast<double>(i));
    auto copy = parseNpy(formatNpy(array), false, error);
    ASSERT_TRUE(copy.has_value()) << error;
    EXPECT_EQ(copy->describe(), "u8[3]") << "the program says what the bytes are";
    copy->readAs(type);
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_EQ(copy->get(i), array.get(i));
  }
  for (const char *code : {"|V1", "<f1", "|u1"}) {
    auto bytes =
        parseNpy(file("{'descr': '" + std::string(code) + "', 'fortran_order': False, 'shape': (2,), }", "\x38\x7e"),
                 false, error);
    ASSERT_TRUE(bytes.has_value()) << error;
    EXPECT_EQ(bytes->describe(), "u8[2]");
  }
}

TEST(Array, NarrowFloats) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float half = halfToFloat(static_cast<uint16_t>(bits)), brain = bfloatToFloat(static_cast<uint16_t>(bits));
    if (!std::isnan(half)) {
      EXPECT_EQ(doubleToHalf(half), bits);
    }
    if (!std::isnan(brain)) {
      EXPECT_EQ(doubleToBfloat(brain), bits);
    }
  }
  EXPECT_EQ(doubleToHalf(65519.99), 0x7bff);
  EXPECT_EQ(doubleToHalf(65520), 0x7c00);
  EXPECT_EQ(doubleToHalf(1 + 0x1p-11), 0x3c00);           // tie to even
  EXPECT_EQ(doubleToHalf(1 + 0x1p-11 + 0x1p-40), 0x3c01); // no double rounding
  EXPECT_EQ(doubleToHalf(0x1p-25), 0);
  EXPECT_EQ(doubleToHalf(0x1.8p-25), 1);
  EXPECT_TRUE(std::isnan(bfloatToFloat(doubleToBfloat(std::numeric_limits<double>::quiet_NaN()))));
}

TEST(Array, FloatsOfEightBits) {
  const double infinity = std::numeric_limits<double>::infinity();
  struct {
    ElementType type;
    double largest, tie, smallest; // the tie between the largest and the next power's step rounds down to the even one
    uint8_t beyond, negativeBeyond, negativeZero;
  } const formats[] = {{ElementType::F8E4M3FN, 448, 464, 0x1p-9, 0x7f, 0xff, 0x80},
                       {ElementType::F8E5M2, 57344, 61439, 0x1p-16, 0x7c, 0xfc, 0x80},
                       {ElementType::F8E4M3FNUZ, 240, 247.9, 0x1p-10, 0x80, 0x80, 0},
                       {ElementType::F8E5M2FNUZ, 57344, 61439, 0x1p-17, 0x80, 0x80, 0}};
  for (const auto &format : formats) {
    Array array(format.type, {1});
    auto *code = reinterpret_cast<uint8_t *>(array.data());
    auto codeOf = [&](double value) {
      array.set(0, value);
      return *code;
    };
    for (unsigned bits = 0; bits < 256; ++bits) {
      *code = static_cast<uint8_t>(bits);
      if (double value = array.get(0); !std::isnan(value)) {
        EXPECT_EQ(codeOf(value), bits) << nameOf(format.type);
      }
    }
    EXPECT_EQ(codeOf(format.tie), codeOf(format.largest)) << nameOf(format.type);
    EXPECT_EQ(codeOf(1.1 * format.tie), format.beyond) << nameOf(format.type);
    EXPECT_EQ(codeOf(-infinity), format.negativeBeyond) << nameOf(format.type);
    EXPECT_EQ(codeOf(-0.0), format.negativeZero) << nameOf(format.type);
    EXPECT_EQ(codeOf(format.smallest / 2), 0) << "a tie goes to the even zero";
    EXPECT_EQ(codeOf(format.smallest * 0.51), 1) << nameOf(format.type);
    codeOf(std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(std::isnan(array.get(0))) << nameOf(format.type);
  }
}

TEST(Array, PowersOfTwo) {
  Array array(ElementType::F8E8M0FNU, {1});
  auto *code = reinterpret_cast<uint8_t *>(array.data());
  for (unsigned bits = 0; bits < 255; ++bits) {
    *code = static_cast<uint8_t>(bits);
    double value = array.get(0);
    EXPECT_EQ(value, std::ldexp(1.0, static_cast<int>(bits) - 127));
    array.set(0, -1.75 * value);
    EXPECT_EQ(*code, bits) << "the exponent alone";
  }
  for (double value : {0x1p128, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    array.set(0, value);
    EXPECT_EQ(*code, 255);
    EXPECT_TRUE(std::isnan(array.get(0)));
  }
  array.set(0, 0);
  EXPECT_EQ(*code, 0) << "there is no zero";
}

} // namespace

} // namespace npy_test
