//===- Views.cpp - Memrefs as parts of arrays -----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Buffers, and other shapes of them.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Reader.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::proof;

/// The line of a location, for the name of a buffer.
static std::string lineOf(Location location) {
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    return " of line " + std::to_string(file.getLine());
  return "";
}

View Reader::arrayOf(Value memref, ArrayRef<Linear> dynamicSizes, llvm::StringRef name) {
  auto type = cast<MemRefType>(memref.getType());
  Array array{
      name.str(), memref.getLoc(), {}, false, time.size(), type.getElementType(), type.getLayout().isIdentity()};
  if (auto buffer = memref.getDefiningOp<tile::AllocOp>())
    array.isRowMajor &= !buffer.getArrangement();
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (type.isDynamicDim(d)) {
      array.shape.push_back(dynamicSizes.front());
      dynamicSizes = dynamicSizes.drop_front();
    } else
      array.shape.push_back(type.getDimSize(d));
  }
  program.arrays.push_back(array);
  return {static_cast<unsigned>(program.arrays.size() - 1), array.shape, nullptr, ""};
}

View Reader::viewOf(Value memref) {
  auto found = views.find(memref);
  if (found != views.end())
    return found->second;
  View view;
  view.unknown = "which array it is does not show";
  if (Operation *op = memref.getDefiningOp())
    view.unknown = "a view by '" + op->getName().getStringRef().str() + "' is not followed";
  return view;
}

/// Indices of `outer`'s array for those of a view, by `own`: from the view to `outer`.
static void setPlace(View &view, const View &outer, std::function<SmallVector<Linear>(ArrayRef<Linear>)> own) {
  auto rest = outer.place;
  view.place = [own, rest](ArrayRef<Linear> index) { return rest ? rest(own(index)) : own(index); };
}

/// Dimensions of `source` that each dimension of a view joins.
static std::optional<View> collapsed(const View &source, ArrayRef<SmallVector<int64_t, 2>> groups, Space &space) {
  View view{source.array, {}, nullptr, ""};
  for (const auto &group : groups) {
    Linear product = 1;
    for (auto [i, dimension] : llvm::enumerate(group)) {
      const Linear &size = source.shape[dimension];
      if (i > 0 && (!size.isConstant() || size.constant() <= 0)) // rows of an unknown length
        return std::nullopt;
      product = space.product(product, size);
    }
    view.shape.push_back(product);
  }
  SmallVector<SmallVector<int64_t, 2>> kept(groups);
  SmallVector<Linear> shape = source.shape;
  setPlace(view, source, [kept, shape, &space](ArrayRef<Linear> index) {
    SmallVector<Linear> result(shape.size());
    for (auto [group, position] : llvm::zip(kept, index)) {
      Linear rest = position;
      for (int64_t dimension : llvm::reverse(ArrayRef(group).drop_front())) {
        int64_t size = shape[dimension].constant();
        result[dimension] = space.modulo(rest, size);
        rest = space.floorDiv(rest, size);
      }
      if (!group.empty())
        result[group.front()] = rest;
    }
    return result;
  });
  return view;
}

std::optional<View> Reader::joined(const View &source, ArrayRef<Linear> shape) {
  SmallVector<SmallVector<int64_t, 2>> groups;
  int64_t next = 0;
  for (const Linear &size : shape) {
    Linear product = 1;
    for (groups.emplace_back(); groups.back().empty() || product != size; ++next) {
      if (next >= static_cast<int64_t>(source.shape.size()) || !source.shape[next].isConstant())
        return std::nullopt;
      product = space.product(product, source.shape[next]);
      groups.back().push_back(next);
    }
  }
  return next == static_cast<int64_t>(source.shape.size()) ? collapsed(source, groups, space) : std::nullopt;
}

bool Reader::readView(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<memref::AllocOp, memref::AllocaOp, tile::AllocOp>([&](auto alloc) {
        Value memref = op->getResult(0);
        views[memref] = arrayOf(memref, numbersOf(alloc.getDynamicSizes()), "the buffer" + lineOf(op->getLoc()));
        return true;
      })
      .Case([&](memref::GetGlobalOp global) {
        // One array for each symbol.
        std::string name = "constant " + global.getName().str();
        for (auto [i, array] : llvm::enumerate(program.arrays))
          if (array.name == name) {
            views[global.getResult()] = {static_cast<unsigned>(i), array.shape, nullptr, ""};
            return true;
          }
        views[global.getResult()] = arrayOf(global.getResult(), {}, name);
        program.arrays.back().depth = 0;
        return true;
      })
      .Case([&](memref::DeallocOp) { return true; })
      .Case([&](arith::SelectOp select) { // `touch` asks for the two; here are their sizes
        if (!isa<MemRefType>(select.getType()))
          return false;
        View yes = viewOf(select.getTrueValue()), no = viewOf(select.getFalseValue());
        if (yes.unknown.empty() && (!no.unknown.empty() || !llvm::equal(yes.shape, no.shape)))
          yes.unknown = "one of two arrays of other sizes";
        views[select.getResult()] = yes;
        return true;
      })
      .Case([&](memref::CastOp cast) {
        if (isa<MemRefType>(cast.getSource().getType()) && isa<MemRefType>(cast.getType()))
          views[cast.getResult()] = viewOf(cast.getSource());
        return true;
      })
      .Case([&](memref::SubViewOp part) {
        View source = viewOf(part.getSource());
        View view{source.array, {}, nullptr, source.unknown};
        auto dropped = part.getDroppedDims();
        SmallVector<Linear> offsets, steps;
        auto sizes = part.getMixedSizes();
        for (auto [offset, step] : llvm::zip(part.getMixedOffsets(), part.getMixedStrides())) {
          offsets.push_back(numberOf(offset));
          steps.push_back(numberOf(step));
          if (!steps.back().isConstant())
            view.unknown = "a view with a step that varies";
        }
        for (auto [d, size] : llvm::enumerate(sizes))
          if (!dropped.test(d))
            view.shape.push_back(numberOf(size));
        setPlace(view, source, [offsets, steps, dropped](ArrayRef<Linear> index) {
          SmallVector<Linear> result;
          size_t next = 0;
          for (size_t d = 0; d < offsets.size(); ++d)
            result.push_back(dropped.test(d) ? offsets[d] : offsets[d] + index[next++] * steps[d].constant());
          return result;
        });
        views[part.getResult()] = view;
        return true;
      })
      .Case([&](memref::CollapseShapeOp collapse) {
        View source = viewOf(collapse.getSrc());
        std::optional<View> view;
        if (source.unknown.empty())
          view = collapsed(source, collapse.getReassociationIndices(), space);
        views[collapse.getResult()] = view ? *view : View{0, {}, nullptr, "a view that joins rows of unknown lengths"};
        return true;
      })
      .Case([&](memref::ExpandShapeOp expand) {
        View source = viewOf(expand.getSrc());
        View view{source.array, {}, nullptr, source.unknown};
        for (OpFoldResult size : expand.getMixedOutputShape())
          view.shape.push_back(numberOf(size));
        SmallVector<SmallVector<int64_t, 2>> groups(expand.getReassociationIndices());
        for (const auto &group : groups)
          for (int64_t dimension : ArrayRef(group).drop_front())
            if (!view.shape[dimension].isConstant())
              view.unknown = "a view that splits rows at unknown lengths";
        SmallVector<Linear> shape = view.shape;
        setPlace(view, source, [groups, shape](ArrayRef<Linear> index) {
          SmallVector<Linear> result;
          for (const auto &group : groups) {
            Linear position;
            for (int64_t dimension : group)
              position = position * (dimension == group.front() ? 1 : shape[dimension].constant()) + index[dimension];
            result.push_back(position);
          }
          return result;
        });
        views[expand.getResult()] = view;
        return true;
      })
      .Default([](Operation *) { return false; });
}
