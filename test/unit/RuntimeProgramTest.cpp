//===- RuntimeProgramTest.cpp - Manifests in the C runtime ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Expressions, sizes, operands and refusals of a program's manifest, as a loader
/// without compiler sees them.
///
//===----------------------------------------------------------------------===//

#include "tilewright/tilewright_driver.h"
#include <climits>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace runtime_program_test {

namespace {

struct Free {
  void operator()(tw_program *program) const { tw_program_free(program); }
};
using Program = std::unique_ptr<tw_program, Free>;

/// The message of a manifest that cannot be read, with its status.
std::string refusal(const std::string &text, tw_status expected = TW_BAD_FILE) {
  tw_program *program = nullptr;
  tw_error error;
  EXPECT_EQ(tw_program_parse(text.data(), text.size(), &program, &error), expected) << text;
  EXPECT_EQ(program, nullptr);
  return program ? "" : error.message;
}

Program parse(const std::string &text) {
  tw_program *program = nullptr;
  tw_error error;
  EXPECT_EQ(tw_program_parse(text.data(), text.size(), &program, &error), TW_OK) << error.message;
  return Program(program);
}

/// A program of one launch, all parts of which can be replaced.
struct Manifest {
  std::string format = "1", arguments = "[]", temporaries = "[]", constraints = "[]";
  std::string grid = "[1, 1, 1]", operands = "[]";
  std::string text() const {
    return R"({"format": )" + format + R"(, "entry": "p", "sizes": 2, "arguments": )" + arguments +
           R"(, "temporaries": )" + temporaries + R"(, "constraints": )" + constraints +
           R"(, "launches": [{"kernel": "k", "threads": 64, "scratchpad": 1024, "cluster": 2, "grid": )" + grid +
           R"(, "arguments": )" + operands + "}]}";
  }
};

/// A host that writes down what it is asked to do; its memory is the process's.
struct Seen {
  std::vector<tw_start> starts;
  std::vector<std::vector<tw_operand>> operands;
  std::vector<int64_t> allocated;
  std::vector<std::unique_ptr<char[]>> memory;
  int live = 0;
  Program program; // names of types are its own

  tw_host host() {
    return {this, record, read, allocate, [](void *context, void *) { --static_cast<Seen *>(context)->live; }};
  }
  static tw_status record(void *context, const tw_start *start, tw_error *) {
    auto &seen = *static_cast<Seen *>(context);
    seen.starts.push_back(*start);
    seen.operands.emplace_back(start->operands, start->operands + start->num_operands);
    return TW_OK;
  }
  static tw_status read(void *, void *to, const void *from, int64_t bytes, tw_error *) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return TW_OK;
  }
  static tw_status allocate(void *context, int64_t bytes, void **result, tw_error *) {
    auto &seen = *static_cast<Seen *>(context);
    seen.memory.push_back(std::make_unique<char[]>(static_cast<size_t>(bytes)));
    seen.allocated.push_back(bytes);
    ++seen.live;
    *result = seen.memory.back().get();
    return TW_OK;
  }
};

/// Runs the manifest; the message of a failure, else "".
std::string run(const Manifest &manifest, std::vector<int64_t> sizes, std::vector<void *> arrays, Seen &seen) {
  seen.program = parse(manifest.text());
  const Program &program = seen.program;
  int temporary = 0;
  std::vector<void *> temporaries(program ? tw_program_temporaries(program.get()) : 0, &temporary);
  tw_error error;
  if (!program)
    return "not parsed";
  tw_host host = seen.host();
  return tw_program_run(program.get(), sizes.data(), arrays.data(), temporaries.data(), temporaries.data(), &host,
                        &error) == TW_OK
             ? ""
             : error.message;
}

/// The value of an expression over the sizes 100 and 7.
std::string value(const std::string &expression) {
  Manifest manifest;
  manifest.operands = "[{\"value\": " + expression + "}]";
  Seen seen;
  std::string failure = run(manifest, {100, 7}, {}, seen);
  return failure.empty() ? std::to_string(seen.operands.at(0).at(0).integer) : failure;
}

} // namespace

TEST(RuntimeProgram, Expressions) {
  EXPECT_EQ(value(R"(["ceildiv", {"size": 0}, 64])"), "2");
  EXPECT_EQ(value(R"(["+", ["*", {"size": 1}, 3], ["mod", {"size": 0}, 7]])"), "23");
  EXPECT_EQ(value(R"(["floordiv", -1, 4])"), "-1");
  EXPECT_EQ(value(R"(["ceildiv", -1, 4])"), "0");
  EXPECT_EQ(value(R"(["ceildiv", 1, -4])"), "0");
  EXPECT_EQ(value(R"(["floordiv", 1, -4])"), "-1");
  EXPECT_EQ(value(R"(["mod", -1, 4])"), "3");
  EXPECT_EQ(value(R"(["mod", -8, 4])"), "0");
  EXPECT_EQ(value(R"(["min", ["max", 3, 5], 4])"), "4");
  EXPECT_EQ(value(R"(["-", 3, -9223372036854775804])"), "9223372036854775807");
  const char *tooLarge = "the sizes of program 'p' make something too large to count";
  EXPECT_EQ(value(R"(["mod", 1, 0])"), tooLarge);
  EXPECT_EQ(value(R"(["*", 9223372036854775807, {"size": 1}])"), tooLarge);
  EXPECT_EQ(value(R"(["+", 9223372036854775807, {"size": 1}])"), tooLarge);
  EXPECT_EQ(value(R"(["floordiv", -9223372036854775808, -1])"), tooLarge);
}

TEST(RuntimeProgram, LaunchesAndOperands) {
  Manifest manifest;
  manifest.arguments = R"([{"type": "f16", "bytes": 2, "shape": [{"size": 0}, 64], "written": true}])";
  manifest.temporaries = R"([{"bytes": ["*", {"size": 1}, 100]}, {"bytes": 0}])";
  manifest.grid = R"([["ceildiv", {"size": 0}, 64], {"size": 1}, 1])";
  manifest.operands = R"([{"array": 0}, {"temporary": 1}, {"value": {"size": 1}},
    {"tensor_map": {"array": 0, "type": "f16", "bytes": 2, "sizes": [64, {"size": 0}], "pitches": [128],
                    "box": [64, 8], "swizzle": 128}}])";
  int array = 0;
  Seen seen;
  ASSERT_EQ(run(manifest, {100, 7}, {&array}, seen), "");
  ASSERT_EQ(seen.starts.size(), 1u);
  const tw_start &start = seen.starts[0];
  EXPECT_EQ(start.grid[0], 2u);
  EXPECT_EQ(start.grid[1], 7u);
  EXPECT_EQ(start.threads, 64u);
  EXPECT_EQ(start.cluster, 2u);
  EXPECT_EQ(start.scratchpad, 1024u);
  const std::vector<tw_operand> &operands = seen.operands[0];
  ASSERT_EQ(operands.size(), 4u);
  EXPECT_EQ(operands[0].pointer, &array);
  EXPECT_EQ(operands[2].integer, 7);
  const tw_tensor &tensor = operands[3].tensor;
  EXPECT_EQ(tensor.base, &array);
  EXPECT_STREQ(tensor.type, "f16");
  EXPECT_EQ(tensor.rank, 2u);
  EXPECT_EQ(tensor.sizes[1], 100);
  EXPECT_EQ(tensor.pitches[0], 128);
  EXPECT_EQ(tensor.box[1], 8u);
  EXPECT_EQ(tensor.swizzle_bytes, 128u);

  Program program = parse(manifest.text());
  int64_t sizes[] = {100, 7}, bytes = 0, shape[2], sizeOf[2];
  tw_error error;
  EXPECT_EQ(tw_program_bytes(program.get(), 0, sizes, &bytes, &error), TW_OK);
  EXPECT_EQ(bytes, 100 * 64 * 2);
  EXPECT_EQ(tw_program_workspace(program.get(), sizes, &bytes, &error), TW_OK);
  EXPECT_EQ(bytes, 768 + 256); // each begins at a multiple of 256
  EXPECT_EQ(tw_program_shape(program.get(), 0, sizes, shape, sizeOf, &error), TW_OK);
  EXPECT_EQ(shape[0], 100);
  EXPECT_EQ(sizeOf[0], 0);
  EXPECT_EQ(sizeOf[1], -1);
  tw_argument argument;
  EXPECT_EQ(tw_program_argument(program.get(), 1, &argument, &error), TW_BAD_ARGUMENT);
  EXPECT_STREQ(error.message, "program 'p' has 1 arguments; there is no number 1");
}

TEST(RuntimeProgram, GridsWithoutBlocksAreNotLaunched) {
  Manifest manifest;
  manifest.grid = R"([{"size": 0}, 1, 1])";
  Seen seen;
  EXPECT_EQ(run(manifest, {0, 1}, {}, seen), "");
  EXPECT_TRUE(seen.starts.empty());
}

TEST(RuntimeProgram, SizesThatCannotBe) {
  Manifest manifest;
  Seen seen;
  EXPECT_EQ(run(manifest, {3, -1}, {}, seen), "size 1 of program 'p' is -1; sizes are 0 or more");
  manifest.constraints =
      R"([{"zero": ["-", {"size": 0}, ["*", 2, {"size": 1}]]}, {"nonnegative": ["-", {"size": 1}, 2]}])";
  EXPECT_EQ(run(manifest, {8, 4}, {}, seen), "");
  EXPECT_EQ(run(manifest, {9, 4}, {}, seen), "the sizes of program 'p' do not agree with each other");
  EXPECT_EQ(run(manifest, {2, 1}, {}, seen), "size 1 of program 'p' is 1; it is at least 2");
  manifest.constraints = R"([{"nonnegative": ["-", 64, {"size": 0}]}])";
  EXPECT_EQ(run(manifest, {65, 1}, {}, seen), "size 0 of program 'p' is 65; it is at most 64");
  manifest.constraints = "[]";
  manifest.arguments = R"([{"type": "f32", "bytes": 4, "shape": [["-", {"size": 0}, 2]], "written": false}])";
  int array = 0;
  EXPECT_EQ(run(manifest, {1, 1}, {&array}, seen), "argument 0 of program 'p' would have extent -1 in dimension 0");
  EXPECT_EQ(run(manifest, {5, 1}, {nullptr}, seen), "argument 0 of program 'p' is a null pointer; expected 12 bytes");
  EXPECT_EQ(run(manifest, {INT64_MAX, 1}, {&array}, seen),
            "the sizes of program 'p' make something too large to count");
  manifest.arguments = "[]";
  manifest.grid = R"([1, {"size": 0}, 1])";
  EXPECT_EQ(run(manifest, {65536, 1}, {}, seen),
            "kernel 'k' needs 65536 blocks in dimension 1 of its grid, devices have 65535");
}

TEST(RuntimeProgram, MalformedManifests) {
  EXPECT_EQ(refusal("{"), "the manifest of a program cannot be read: expected a string at byte 1");
  EXPECT_EQ(refusal("[1, 2"), "the manifest of a program cannot be read: expected ',' or ']' at byte 5");
  EXPECT_EQ(refusal(R"({"a": 99999999999999999999})"),
            "the manifest of a program cannot be read: a number is too large at byte 6");
  EXPECT_EQ(refusal("[] []"), "the manifest of a program cannot be read: expected the end at byte 3");
  EXPECT_EQ(refusal(std::string(5000, '[')),
            "the manifest of a program cannot be read: too many nested values at byte 201");
  EXPECT_EQ(refusal("{}"), "the manifest of program '?' has no format");
  Manifest manifest;
  manifest.format = "6";
  EXPECT_EQ(refusal(manifest.text(), TW_BAD_VERSION),
            std::string("the manifest of a program has format 6; this library (") + tw_version() +
                ") reads formats up to 5");
  auto broken = [](std::string Manifest::*part, const char *text) {
    Manifest manifest;
    manifest.*part = text;
    return refusal(manifest.text());
  };
  EXPECT_EQ(broken(&Manifest::grid, "[1, 1]"),
            "the manifest of program 'p' has a launch without kernel, 'threads', 'grid' or 'arguments'");
  EXPECT_EQ(broken(&Manifest::grid, R"([["^", 1, 2], 1, 1])"),
            "the manifest of program 'p' has the unknown operation '^'");
  EXPECT_EQ(broken(&Manifest::grid, R"([{"size": 2}, 1, 1])"),
            "the manifest of program 'p' names a size or variable that the program does not have");
  EXPECT_EQ(broken(&Manifest::grid, R"(["x", 1, 1])"),
            "the manifest of program 'p' has something where an expression belongs");
  const char *operand =
      "the manifest of program 'p' has a launch with an argument that is neither buffer, tensor map nor value";
  EXPECT_EQ(broken(&Manifest::operands, R"([{"array": 0}])"), operand);
  EXPECT_EQ(broken(&Manifest::operands, R"([{"temporary": 0}])"), operand);
  EXPECT_EQ(broken(&Manifest::operands, "[7]"), operand);
  EXPECT_EQ(
      broken(&Manifest::operands, R"([{"tensor_map": {"array": 0}}])"),
      "the manifest of program 'p' has a tensor map without an array, 'type', 'bytes', 'sizes', 'pitches' or 'box'");
  EXPECT_EQ(broken(&Manifest::temporaries, "[8]"), "the manifest of program 'p' has a temporary that is no object");
  EXPECT_EQ(broken(&Manifest::arguments, R"([{"type": "f32"}])"),
            "the manifest of program 'p' has an argument without 'type', 'bytes', 'shape' or 'written'");
  EXPECT_EQ(broken(&Manifest::constraints, R"([{"even": 2}])"),
            "the manifest of program 'p' has a constraint that is neither 'zero' nor 'nonnegative'");
}

/// A program of steps: buffers 0 (an argument), 1 (a constant), 2 and 3; variables 0 and 1.
static std::string stepsText(const std::string &steps, const std::string &constant = "\"AAECAwQFBgc=\"") {
  return R"({"format": 2, "entry": "p", "sizes": 1, "variables": 2, "buffers": 4, "temporaries": [],
             "arguments": [{"type": "i32", "bytes": 4, "shape": [4], "written": true}],
             "constants": [{"buffer": 1, "bytes": 16, "data": )" +
         constant + R"(}], "steps": )" + steps + "}";
}

TEST(RuntimeProgram, StepsWithControlFlow) {
  const char *launch = R"({"launch": "k", "threads": 1, "grid": [1, 1, 1],
                           "arguments": [{"value": {"variable": 0}}, {"buffer": 2}]})";
  // v0 counts to the size by the element of the argument; an allocation each time, two of which change places.
  std::string text = stepsText(std::string(R"([
    {"assign": [[0, 3], [1, 4]]},
    {"assign": [[0, {"variable": 1}], [1, {"variable": 0}]]},
    {"if": ["==", {"variable": 0}, 4], "then": [{"assign": [[0, 0]]}], "else": []},
    {"allocate": 3, "bytes": 8},
    {"while": ["<", {"variable": 0}, {"size": 0}], "before": [{"read": 1, "buffer": 0, "offset": 2, "bytes": 4}],
     "do": [{"allocate": 2, "bytes": ["*", {"variable": 0}, 16]}, )") +
                               launch + R"(, {"rename": [[2, 3], [3, 2]]},
            {"assign": [[0, ["-", {"variable": 0}, {"variable": 1}]]]}]}])");
  Program program = parse(text);
  ASSERT_TRUE(program);
  int32_t array[4] = {9, 9, -2, 9};
  void *arrays[] = {array}, *constants[] = {array};
  int64_t sizes[] = {5};
  Seen seen;
  tw_host host = seen.host();
  tw_error error;
  ASSERT_EQ(tw_program_run(program.get(), sizes, arrays, constants, nullptr, &host, &error), TW_OK) << error.message;
  ASSERT_EQ(seen.starts.size(), 3u); // v0 = 0, 2, 4
  EXPECT_EQ(seen.operands[2][0].integer, 4);
  EXPECT_EQ(seen.allocated, (std::vector<int64_t>{8, 1, 32, 64}));
  EXPECT_EQ(seen.operands[1][1].pointer, seen.memory[2].get());
  EXPECT_EQ(seen.live, 0);

  int64_t bytes = 0;
  char data[16];
  ASSERT_EQ(tw_program_constant(program.get(), 0, &bytes, data, &error), TW_OK);
  EXPECT_EQ(bytes, 16);
  EXPECT_EQ(data[3], 3);
  EXPECT_EQ(data[15], 7); // repeated
  EXPECT_EQ(tw_program_constant_shared(program.get(), 0), nullptr);
  EXPECT_EQ(tw_program_constant_shared(program.get(), 1), nullptr);
}

TEST(RuntimeProgram, SharedConstantsHaveAName) {
  Program program = parse(stepsText("[]", R"("AAECAwQFBgc=", "written": true, "shared": "state")"));
  ASSERT_TRUE(program);
  EXPECT_STREQ(tw_program_constant_shared(program.get(), 0), "state");
}

/// A program whose result, buffer 1, has as many elements as element 0 of buffer 0 says.
static const char *const madeOfData =
    R"({"format": 3, "entry": "p", "sizes": 2, "variables": 1, "buffers": 2, "temporaries": [],
  "arguments": [{"type": "i64", "bytes": 8, "shape": [{"size": 0}], "written": false},
                {"type": "i64", "bytes": 8, "shape": [{"size": 1}], "written": true}],
  "steps": [{"read": 0, "buffer": 0, "offset": 0, "bytes": 8},
            {"argument": 1, "require": {"variable": 0}, "equals": {"size": 1}, "dimension": 0},
            {"launch": "k", "threads": 1, "grid": [1, 1, 1], "arguments": [{"buffer": 1}]}]})";

TEST(RuntimeProgram, SizesThatFollowFromData) {
  Program program = parse(madeOfData);
  ASSERT_TRUE(program);
  int64_t input[1] = {3}, output[5] = {};
  void *arrays[] = {input, output};
  Seen seen;
  tw_host host = seen.host();
  tw_error error;
  for (int64_t given : {0, 2, 5}) {
    int64_t sizes[] = {1, given};
    EXPECT_EQ(tw_program_run(program.get(), sizes, arrays, nullptr, nullptr, &host, &error), TW_BAD_SIZES);
    EXPECT_EQ(error.message, "argument 1 of program 'p' has extent " + std::to_string(given) +
                                 " in dimension 0, but the program makes 3 of its data");
    EXPECT_EQ(sizes[1], given);
    EXPECT_EQ(seen.starts.size(), 0u) << "nothing may be written";
    EXPECT_EQ(tw_program_learn(program.get(), sizes, arrays, nullptr, nullptr, &host, &error), TW_BAD_SIZES);
    EXPECT_EQ(sizes[1], 3);
  }
  int64_t sizes[] = {1, 3};
  EXPECT_EQ(tw_program_run(program.get(), sizes, arrays, nullptr, nullptr, &host, &error), TW_OK) << error.message;
  EXPECT_EQ(seen.starts.size(), 1u);
  // No array has a negative extent: there is no size to go on with.
  input[0] = -1;
  EXPECT_EQ(tw_program_learn(program.get(), sizes, arrays, nullptr, nullptr, &host, &error), TW_BAD_SIZES);
  EXPECT_EQ(sizes[1], 3);
}

TEST(RuntimeProgram, SizesInside) {
  Program program = parse(stepsText(R"([{"require": {"size": 0}, "equals": 4}])"));
  ASSERT_TRUE(program);
  int32_t array[4] = {};
  void *arrays[] = {array}, *constants[] = {array};
  Seen seen;
  tw_host host = seen.host();
  tw_error error;
  int64_t sizes[] = {5};
  EXPECT_EQ(tw_program_learn(program.get(), sizes, arrays, constants, nullptr, &host, &error), TW_BAD_SIZES);
  EXPECT_STREQ(error.message,
               "sizes inside of program 'p' disagree: it makes 5 of its data where an operation needs 4");
  EXPECT_EQ(sizes[0], 5);
  sizes[0] = 4;
  EXPECT_EQ(tw_program_run(program.get(), sizes, arrays, constants, nullptr, &host, &error), TW_OK) << error.message;
}

TEST(RuntimeProgram, IndexOutsideOfItsArray) {
  Program program = parse(stepsText(R"([{"require": {"size": 0}, "equals": 0, "extent": 4, "index": 1,
                                         "message": "{index} of {extent}{extent}, {size}"}])"));
  ASSERT_TRUE(program);
  int32_t array[4] = {};
  void *arrays[] = {array}, *constants[] = {array};
  Seen seen;
  tw_host host = seen.host();
  tw_error error;
  int64_t sizes[] = {5};
  EXPECT_EQ(tw_program_run(program.get(), sizes, arrays, constants, nullptr, &host, &error), TW_BAD_INDEX);
  EXPECT_STREQ(error.message, "program 'p' refuses its data: 4 of 44, {size}");
  EXPECT_EQ(error.status, TW_BAD_INDEX);
  sizes[0] = 0;
  EXPECT_EQ(tw_program_run(program.get(), sizes, arrays, constants, nullptr, &host, &error), TW_OK) << error.message;
  // A negative index is its own code; a text that does not fit ends where the room does.
  const std::string longText(2 * sizeof(error.message), 'x');
  for (const auto &[message, expected] :
       {std::pair(std::string("{index}"), std::string("program 'p' refuses its data: -3")),
        std::pair(longText + "{index}",
                  ("program 'p' refuses its data: " + longText).substr(0, sizeof(error.message) - 1))}) {
    Program negative =
        parse(stepsText(R"([{"require": -3, "equals": 0, "index": 1, "message": ")" + message + R"("}])"));
    ASSERT_TRUE(negative);
    EXPECT_EQ(tw_program_run(negative.get(), sizes, arrays, constants, nullptr, &host, &error), TW_BAD_INDEX);
    EXPECT_EQ(error.message, expected);
  }
}

TEST(RuntimeProgram, MalformedSteps) {
  for (const char *wrong :
       {R"("argument": 1, "dimension": 0)", R"("argument": 0, "dimension": 1)", R"("dimension": 0)"})
    EXPECT_EQ(refusal(stepsText(R"([{"require": 1, "equals": 1, )" + std::string(wrong) + "}]")),
              "the manifest of program 'p' requires a size of something that it does not have");
  EXPECT_EQ(refusal(stepsText(R"([{"require": 1, "argument": 0, "dimension": 0}])")),
            "the manifest of program 'p' has a step without 'equals'");
  EXPECT_EQ(refusal(stepsText(R"([{"assign": [[2, 1]]}])")),
            "the manifest of program 'p' assigns to something that it does not have");
  EXPECT_EQ(refusal(stepsText(R"([{"rename": [[2, 4]]}])")),
            "the manifest of program 'p' renames a buffer that it does not have");
  EXPECT_EQ(refusal(stepsText(R"([{"read": 0, "buffer": 4, "offset": 0, "bytes": 4}])")),
            "the manifest of program 'p' has a read of something that it does not have");
  EXPECT_EQ(refusal(stepsText(R"([{"allocate": 2}])")), "the manifest of program 'p' has a step without 'bytes'");
  EXPECT_EQ(refusal(stepsText(R"([{"if": 1, "then": []}])")), "the manifest of program 'p' has a step without 'else'");
  EXPECT_EQ(refusal(stepsText("[]", "\"AAE!\"")),
            "the manifest of program 'p' has a constant whose data is not base64");
  EXPECT_EQ(refusal(stepsText("[]", "\"AAEC\"")),
            "the manifest of program 'p' has a constant whose bytes are no multiple of its data");
}

TEST(RuntimeProgram, TextsWithEscapes) {
  Program program = parse(R"({"format": 1, "entry": "a\"\\\u0041\u00e9\ud83d\ude00\n", "sizes": 0, "arguments": [],
                              "temporaries": [], "launches": [],
                              "later": {"real": -1.5e3, "none": null, "yes": true}})");
  ASSERT_TRUE(program);
  EXPECT_STREQ(tw_program_name(program.get()), "a\"\\A\xc3\xa9\xf0\x9f\x98\x80\n");
}

} // namespace runtime_program_test
