//===- TileSets.cpp - What a tile of a nest touches, as integer sets ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Affine maps and bounds become isl's, its boxes become affine expressions.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/TileSets.h"
#include "core/Analysis/AffineAccess.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <unordered_map>

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/fixed_box.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Steps that isl may take for one block before it gives up: about a tenth of a second.
static constexpr unsigned long mostOperations = 2000000;

//===-- Relations ---------------------------------------------------------===//

TileRelation::TileRelation(const TileRelation &other) : map(other.map ? isl_map_copy(other.map) : nullptr) {}
TileRelation::~TileRelation() { isl_map_free(map); }

TileRelation TileRelation::unite(const TileRelation &other) const {
  if (!map || !other.map)
    return {};
  return TileRelation(isl_map_union(isl_map_copy(map), isl_map_copy(other.map)));
}

bool TileRelation::isWithin(const TileRelation &other) const {
  return map && other.map && isl_map_is_subset(map, other.map) == isl_bool_true;
}

int64_t TileBox::elements() const {
  int64_t product = 1;
  for (int64_t each : size)
    product *= each;
  return product;
}

//===-- From MLIR to isl --------------------------------------------------===//

/// `expr` over the dimensions of `space`; `places[i]` is that of operand i (dimensions, then symbols).
static isl_aff *toIsl(AffineExpr expr, unsigned numDims, ArrayRef<unsigned> places, isl_local_space *space) {
  isl_ctx *ctx = isl_local_space_get_ctx(space);
  auto constant = [&](int64_t value) {
    return isl_aff_val_on_domain(isl_local_space_copy(space), isl_val_int_from_si(ctx, value));
  };
  auto variable = [&](unsigned operand) {
    return isl_aff_var_on_domain(isl_local_space_copy(space), isl_dim_set, places[operand]);
  };
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return variable(dim.getPosition());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return variable(numDims + symbol.getPosition());
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return constant(number.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  isl_aff *left = toIsl(binary.getLHS(), numDims, places, space);
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() == AffineExprKind::Add)
    return isl_aff_add(left, toIsl(binary.getRHS(), numDims, places, space));
  if (!factor || !left) { // semi-affine
    isl_aff_free(left);
    return nullptr;
  }
  isl_val *value = isl_val_int_from_si(ctx, factor.getValue());
  switch (binary.getKind()) {
  case AffineExprKind::Mul:
    return isl_aff_scale_val(left, value);
  case AffineExprKind::FloorDiv:
    return isl_aff_floor(isl_aff_scale_down_val(left, value));
  case AffineExprKind::CeilDiv:
    return isl_aff_ceil(isl_aff_scale_down_val(left, value));
  default:
    return isl_aff_mod_val(left, value);
  }
}

/// The expression of `aff` over its input dimensions; null where a coefficient is no integer. `divisions`: those that
/// are known of the local space, whose divisions are over those before them.
static AffineExpr toAffine(isl_aff *aff, MLIRContext *context, SmallVectorImpl<AffineExpr> &divisions) {
  auto integer = [](isl_val *value) {
    std::optional<int64_t> result;
    if (value && isl_val_is_int(value) == isl_bool_true)
      result = isl_val_get_num_si(value);
    isl_val_free(value);
    return result;
  };
  std::optional<int64_t> denominator = integer(isl_aff_get_denominator_val(aff));
  if (!denominator)
    return {};
  AffineExpr sum = getAffineConstantExpr(0, context);
  auto addTerm = [&](isl_val *coefficient, function_ref<AffineExpr()> termOf) {
    auto factor = integer(isl_val_mul(coefficient, isl_val_int_from_si(isl_aff_get_ctx(aff), *denominator)));
    if (!factor || *factor == 0)
      return factor.has_value();
    AffineExpr term = termOf();
    if (term)
      sum = sum + term * *factor;
    return bool(term);
  };
  auto divisionOf = [&](unsigned i) {
    if (divisions.size() <= i)
      divisions.resize(i + 1);
    if (divisions[i])
      return divisions[i];
    isl_aff *division = isl_aff_get_div(aff, i);
    isl_val *divisor = isl_aff_get_denominator_val(division);
    std::optional<int64_t> by = integer(isl_val_copy(divisor));
    isl_aff *argument = isl_aff_scale_val(division, divisor);
    if (AffineExpr whole = by ? toAffine(argument, context, divisions) : AffineExpr())
      divisions[i] = whole.floorDiv(*by);
    isl_aff_free(argument);
    return divisions[i];
  };
  bool known = addTerm(isl_aff_get_constant_val(aff), [&] { return getAffineConstantExpr(1, context); });
  for (isl_size i = 0, n = isl_aff_dim(aff, isl_dim_in); i < n; ++i)
    known &= addTerm(isl_aff_get_coefficient_val(aff, isl_dim_in, i), [&] { return getAffineDimExpr(i, context); });
  for (isl_size i = 0, n = isl_aff_dim(aff, isl_dim_div); i < n; ++i)
    known &= addTerm(isl_aff_get_coefficient_val(aff, isl_dim_div, i), [&] { return divisionOf(i); });
  if (!known)
    return {};
  return *denominator == 1 ? sum : sum.floorDiv(*denominator);
}

static AffineExpr toAffine(isl_aff *aff, MLIRContext *context) {
  SmallVector<AffineExpr> divisions;
  return toAffine(aff, context, divisions);
}

/// Puts operands that are constants into the map; they stay operands that it does not use.
static AffineMap withConstants(AffineMap map, ValueRange operands) {
  SmallVector<AffineExpr> dims, symbols;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    bool isDim = i < map.getNumDims();
    AffineExpr self =
        isDim ? getAffineDimExpr(i, map.getContext()) : getAffineSymbolExpr(i - map.getNumDims(), map.getContext());
    if (std::optional<int64_t> known = getConstantIntValue(operand))
      self = getAffineConstantExpr(*known, map.getContext());
    (isDim ? dims : symbols).push_back(self);
  }
  return map.replaceDimsAndSymbols(dims, symbols, map.getNumDims(), map.getNumSymbols());
}

/// What the map of a load or a store takes.
static OperandRange indicesOf(Operation *access) {
  auto load = dyn_cast<AffineLoadOp>(access);
  return load ? load.getMapOperands() : cast<AffineStoreOp>(access).getMapOperands();
}

//===-- Blocks ------------------------------------------------------------===//

static isl_ctx *boundedContext() {
  isl_ctx *ctx = isl_ctx_alloc();
  isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(ctx, mostOperations);
  return ctx;
}

/// The level of which `value` is one of the numbers of a member.
static tile::ParallelOp levelOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? dyn_cast<tile::ParallelOp>(argument.getOwner()->getParentOp()) : tile::ParallelOp();
}

TileSets::TileSets(Block &block, const llvm::SmallMapVector<AffineForOp, int64_t, 4> &tiles)
    : block(block), tiles(tiles), ctx(boundedContext()) {
  auto isInner = [&](Value value) {
    AffineForOp owner = getForInductionVarOwner(value);
    return owner && block.findAncestorOpInBlock(*owner) && !this->tiles.contains(owner);
  };
  llvm::SmallSetVector<Value, 8> found;
  auto add = [&](ValueRange operands) {
    for (Value value : operands)
      if (!isInner(value) && !getConstantIntValue(value))
        found.insert(value);
  };
  // Of the whole block, for each of many tiles: indices of its own loops, which most are, say nothing.
  auto saysNothing = [&](Value value) { return getConstantIntValue(value) || isInner(value); };
  // Accesses at the same indices say the same, and most of a nest are.
  using Place = std::pair<AffineMap, OperandRange>;
  std::unordered_map<size_t, SmallVector<Place, 1>> seen; // by their hash
  auto isNew = [&](Operation *op) {
    auto load = dyn_cast<AffineLoadOp>(op);
    const Place own(load ? load.getAffineMap() : cast<AffineStoreOp>(op).getAffineMap(), indicesOf(op));
    auto isSame = [&](const Place &other) { return other.first == own.first && llvm::equal(other.second, own.second); };
    SmallVector<Place, 1> &alike = seen[llvm::hash_combine(own.first, llvm::hash_combine_range(own.second))];
    if (llvm::any_of(alike, isSame))
      return false;
    alike.push_back(own);
    return true;
  };
  block.walk([&](Operation *op) {
    if (isa<AffineLoadOp, AffineStoreOp>(op) && !llvm::all_of(indicesOf(op), saysNothing) && isNew(op))
      add(affineAccess(op).operands);
    if (auto loop = dyn_cast<AffineForOp>(op)) {
      add(loop.getLowerBoundOperands());
      add(loop.getUpperBoundOperands());
    }
  });
  // What bounds them bounds the sets.
  for (unsigned i = 0; i < found.size(); ++i)
    if (AffineForOp owner = getForInductionVarOwner(found[i])) {
      add(owner.getLowerBoundOperands());
      add(owner.getUpperBoundOperands());
    } else if (auto smallest = found[i].getDefiningOp<AffineMinOp>()) {
      add(smallest.getOperands());
    } else if (tile::ParallelOp level = levelOf(found[i])) {
      add(level.getBoundOperands());
    }
  values.assign(found.begin(), found.end());
}

TileSets::~TileSets() { isl_ctx_free(ctx); }

/// Adds that the variable at `position` is at least the results of `map`, or at most those less `distance`; `inner`:
/// variables of loops, which follow `values`. What is not known of is no constraint: the set is larger.
void TileSets::constrain(isl_set *&set, AffineMap map, ValueRange operands, unsigned position, ArrayRef<Value> inner,
                         bool isLower, int64_t distance) {
  SmallVector<Value> inputs(operands);
  fullyComposeAffineMapAndOperands(&map, &inputs);
  map = withConstants(map, inputs);
  SmallVector<unsigned> places;
  for (Value operand : inputs) {
    if (getConstantIntValue(operand)) {
      places.push_back(~0u); // not used by the map
      continue;
    }
    auto in = llvm::find(inner, operand);
    auto out = llvm::find(values, operand);
    if (in == inner.end() && out == values.end())
      return;
    places.push_back(in != inner.end() ? values.size() + (in - inner.begin()) : out - values.begin());
  }
  isl_local_space *space = isl_local_space_from_space(isl_set_get_space(set));
  for (AffineExpr result : map.getResults()) {
    isl_aff *bound = toIsl(result, map.getNumDims(), places, space);
    if (!bound)
      continue;
    isl_aff *variable = isl_aff_var_on_domain(isl_local_space_copy(space), isl_dim_set, position);
    isl_aff *least =
        isLower ? isl_aff_sub(variable, bound) : isl_aff_add_constant_si(isl_aff_sub(bound, variable), -distance);
    set = isl_set_intersect(set, isl_pw_aff_nonneg_set(isl_pw_aff_from_aff(least)));
  }
  isl_local_space_free(space);
}

/// Adds what the bounds of `loop` say of its variable at `position`; `tile`: the iterations of a tile that begins at
/// the value of `values`; `whole`: it begins that many iterations before the end at least.
void TileSets::constrain(isl_set *&set, AffineForOp loop, unsigned position, ArrayRef<Value> inner,
                         std::optional<int64_t> tile, int64_t whole) {
  isl_local_space *space = isl_local_space_from_space(isl_set_get_space(set));
  auto variable = [&](unsigned at) { return isl_aff_var_on_domain(isl_local_space_copy(space), isl_dim_set, at); };
  auto keep = [&](isl_aff *least) { // least >= 0
    set = least ? isl_set_intersect(set, isl_pw_aff_nonneg_set(isl_pw_aff_from_aff(least))) : set;
  };
  constrain(set, loop.getLowerBoundMap(), loop.getLowerBoundOperands(), position, inner, /*isLower=*/true, 0);
  constrain(set, loop.getUpperBoundMap(), loop.getUpperBoundOperands(), position, inner, /*isLower=*/false, whole);
  if (tile) {
    auto first = llvm::find(values, loop.getInductionVar());
    if (first != values.end()) {
      unsigned at = first - values.begin();
      keep(isl_aff_sub(variable(position), variable(at)));
      keep(isl_aff_add_constant_si(isl_aff_sub(variable(at), variable(position)), *tile - 1));
    }
  }
  int64_t step = loop.getStepAsInt();
  if (step != 1 && loop.hasConstantLowerBound()) {
    isl_aff *distance = isl_aff_add_constant_si(variable(position), -loop.getConstantLowerBound());
    isl_aff *rest = isl_aff_mod_val(distance, isl_val_int_from_si(ctx, step));
    set = isl_set_intersect(set, isl_set_from_basic_set(isl_aff_zero_basic_set(rest)));
  }
  isl_local_space_free(space);
}

TileRelation TileSets::touched(Value memref, ArrayRef<Operation *> roots) {
  TileRelation all;
  for (Operation *root : roots) {
    WalkResult walk = root->walk([&](Operation *op) {
      if (!isa<AffineLoadOp, AffineStoreOp>(op) || arrayOf(op) != memref)
        return WalkResult::advance();
      TileRelation each = touched(op);
      if (!each)
        return WalkResult::interrupt();
      all = all ? all.unite(each) : each;
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return {};
  }
  return all;
}

TileRelation TileSets::touched(Operation *access) {
  AffineAccess at = affineAccess(access);
  SmallVector<AffineForOp> loops;
  SmallVector<Value> inner;
  for (Operation *parent = access->getParentOp(); parent && parent != block.getParentOp();
       parent = parent->getParentOp())
    if (auto loop = dyn_cast<AffineForOp>(parent); loop && !tiles.contains(loop))
      loops.push_back(loop);
  for (auto [loop, size] : tiles)
    loops.push_back(loop);
  for (AffineForOp loop : loops)
    inner.push_back(loop.getInductionVar());

  isl_space *space = isl_space_set_alloc(ctx, 0, values.size() + inner.size());
  isl_set *domain = isl_set_universe(isl_space_copy(space));
  for (auto [i, loop] : llvm::enumerate(loops)) {
    auto tile = tiles.find(loop);
    constrain(domain, loop, values.size() + i, inner, tile == tiles.end() ? std::nullopt : std::optional(tile->second));
  }
  for (auto [i, value] : llvm::enumerate(values))
    if (AffineForOp owner = getForInductionVarOwner(value)) {
      auto tile = tiles.find(owner);
      constrain(domain, owner, i, {}, std::nullopt, tile == tiles.end() ? 1 : tile->second);
    } else if (tile::ParallelOp level = levelOf(value)) {
      domain = isl_set_lower_bound_si(domain, isl_dim_set, i, 0);
      AffineMap count = level.getUpperBounds().getSubMap({cast<BlockArgument>(value).getArgNumber()});
      constrain(domain, count, level.getBoundOperands(), i, {}, /*isLower=*/false, /*distance=*/1);
    } else if (auto smallest = value.getDefiningOp<AffineMinOp>()) {
      constrain(domain, smallest.getAffineMap(), smallest.getOperands(), i, {}, /*isLower=*/false, /*distance=*/0);
    }

  isl_local_space *local = isl_local_space_from_space(isl_space_copy(space));
  at.map = withConstants(at.map, at.operands);
  SmallVector<unsigned> places;
  bool known = true;
  for (Value operand : at.operands) {
    auto in = llvm::find(inner, operand);
    auto out = llvm::find(values, operand);
    places.push_back(in != inner.end()     ? values.size() + (in - inner.begin())
                     : out != values.end() ? out - values.begin()
                                           : ~0u);
    known &= places.back() != ~0u || getConstantIntValue(operand);
  }
  isl_aff_list *results = isl_aff_list_alloc(ctx, at.map.getNumResults());
  for (AffineExpr result : at.map.getResults()) {
    isl_aff *aff = known ? toIsl(result, at.map.getNumDims(), places, local) : nullptr;
    known &= aff != nullptr;
    if (aff)
      results = isl_aff_list_add(results, aff);
  }
  isl_local_space_free(local);
  if (!known) {
    isl_aff_list_free(results);
    isl_set_free(domain);
    isl_space_free(space);
    return {};
  }
  isl_space *both = isl_space_map_from_domain_and_range(space, isl_space_set_alloc(ctx, 0, at.map.getNumResults()));
  isl_map *map = isl_map_from_multi_aff(isl_multi_aff_from_aff_list(both, results));
  map = isl_map_intersect_domain(map, domain);
  // Every access is inside of its array: values around the block for which one would not be do not occur.
  auto type = cast<MemRefType>(at.memref.getType());
  isl_map *inside = isl_map_copy(map);
  for (int64_t d = 0; d < type.getRank(); ++d) {
    inside = isl_map_lower_bound_si(inside, isl_dim_out, d, 0);
    if (!type.isDynamicDim(d))
      inside = isl_map_upper_bound_si(inside, isl_dim_out, d, type.getDimSize(d) - 1);
  }
  isl_map *outside = isl_map_subtract(map, isl_map_copy(inside));
  inside = isl_map_project_out(inside, isl_dim_in, values.size(), inner.size());
  outside = isl_map_project_out(outside, isl_dim_in, values.size(), inner.size());
  if (!access->getParentOfType<AffineIfOp>() && isl_map_is_empty(outside) == isl_bool_false)
    inside = isl_map_subtract_domain(inside, isl_map_domain(isl_map_copy(outside)));
  isl_map_free(outside);
  return TileRelation(isl_map_coalesce(inside));
}

TileRelation TileSets::ofAll(const TileRelation &relation, Operation *op) const {
  isl_map *map = relation ? isl_map_copy(relation.get()) : nullptr;
  for (auto [i, value] : llvm::enumerate(SmallVector<Value>(values)))
    if (map && op->isAncestor(value.getParentRegion()->getParentOp())) { // any of them, the others as they are
      map = isl_map_project_out(map, isl_dim_in, i, 1);
      map = isl_map_insert_dims(map, isl_dim_in, i, 1);
    }
  return TileRelation(map);
}

/// `function` as one expression; null where it takes several.
static AffineExpr asOneExpression(isl_pw_aff *function, MLIRContext *context) {
  std::pair<AffineExpr, MLIRContext *> result{{}, context};
  auto take = [](isl_set *domain, isl_aff *aff, void *user) {
    auto &[expr, context] = *static_cast<std::pair<AffineExpr, MLIRContext *> *>(user);
    expr = toAffine(aff, context);
    isl_aff_free(aff);
    isl_set_free(domain);
    return isl_stat_ok;
  };
  function = isl_pw_aff_coalesce(function);
  if (function && isl_pw_aff_n_piece(function) == 1)
    isl_pw_aff_foreach_piece(function, take, &result);
  isl_pw_aff_free(function);
  return result.first;
}

bool TileSets::isAtMost(const TileRelation &relation, AffineExpr expr, int64_t limit) {
  isl_set *domain = isl_map_domain(isl_map_copy(relation.get()));
  isl_local_space *local = isl_local_space_from_space(isl_set_get_space(domain));
  auto places = llvm::to_vector(llvm::seq<unsigned>(0, values.size()));
  isl_aff *value = toIsl(expr, values.size(), places, local);
  isl_local_space_free(local);
  if (!value) {
    isl_set_free(domain);
    return false;
  }
  value = isl_aff_add_constant_si(value, -limit - 1); // beyond: not negative
  domain = isl_set_intersect(domain, isl_pw_aff_nonneg_set(isl_pw_aff_from_aff(value)));
  bool result = isl_set_is_empty(domain) == isl_bool_true;
  isl_set_free(domain);
  return result;
}

std::optional<TileBox> TileSets::box(const TileRelation &relation, MemRefType type, std::string &reason,
                                     bool hasConstantSize) {
  MLIRContext *context = type.getContext();
  TileBox box;
  if (!relation) {
    reason = "its indices are not affine in the loops";
    return std::nullopt;
  }
  if (isl_map_is_empty(relation.get()) == isl_bool_true) { // a tile that never runs
    box.offset.assign(type.getRank(), getAffineConstantExpr(0, context));
    box.extent = box.offset;
    box.size.assign(type.getRank(), 1);
    return box;
  }
  isl_fixed_box *hull = isl_map_get_range_simple_fixed_box_hull(relation.get());
  bool hasHull = hull && isl_fixed_box_is_valid(hull) == isl_bool_true;
  if (!hasHull) { // of every second or third element isl finds none, depending on how it wrote the set; of all it does
    isl_fixed_box_free(hull);
    isl_map *filled = isl_map_remove_divs(isl_map_copy(relation.get()));
    hull = isl_map_get_range_simple_fixed_box_hull(filled);
    isl_map_free(filled);
    hasHull = hull && isl_fixed_box_is_valid(hull) == isl_bool_true;
  }
  isl_multi_val *size = hasHull ? isl_fixed_box_get_size(hull) : nullptr;
  isl_multi_aff *offset = hasHull ? isl_fixed_box_get_offset(hull) : nullptr;
  isl_fixed_box_free(hull);
  bool valid = hasHull || !hasConstantSize;
  for (int64_t d = 0; valid && d < type.getRank(); ++d) {
    AffineExpr least = asOneExpression(isl_map_dim_min(isl_map_copy(relation.get()), d), context);
    AffineExpr most = asOneExpression(isl_map_dim_max(isl_map_copy(relation.get()), d), context);
    int64_t elements = 0;
    if (hasHull) {
      isl_val *length = isl_multi_val_get_val(size, d);
      elements = isl_val_get_num_si(length);
      isl_val_free(length);
    }
    if (!least && hasHull) {
      isl_aff *from = isl_multi_aff_get_aff(offset, d);
      least = toAffine(from, context);
      isl_aff_free(from);
    }
    if (hasHull && least && !most && !type.isDynamicDim(d) &&
        isAtMost(relation, least + (elements - 1), type.getDimSize(d) - 1))
      most = least + (elements - 1);
    valid &= bool(least) && bool(most);
    if (!valid)
      break;
    box.offset.push_back(simplifyAffineExpr(least, values.size(), 0));
    if (hasConstantSize)
      box.size.push_back(elements);
    box.extent.push_back(simplifyAffineExpr(most - least + 1, values.size(), 0));
  }
  isl_multi_val_free(size);
  isl_multi_aff_free(offset);
  if (valid)
    return box;
  reason = isl_ctx_last_error(ctx) == isl_error_quota ? "its elements could not be counted in bounded time"
                                                      : "the elements that a tile touches have no box of constant size";
  isl_ctx_reset_error(ctx);
  return std::nullopt;
}

bool TileSets::covers(const TileRelation &relation, const TileBox &box) {
  if (!relation)
    return false;
  isl_space *space = isl_map_get_space(relation.get());
  isl_map *whole = isl_map_universe(isl_space_copy(space));
  isl_local_space *local = isl_local_space_from_space(isl_space_wrap(space));
  auto places = llvm::to_vector(llvm::seq<unsigned>(0, values.size()));
  isl_set *set = isl_map_wrap(whole);
  auto keep = [&](isl_aff *least) { set = isl_set_intersect(set, isl_pw_aff_nonneg_set(isl_pw_aff_from_aff(least))); };
  for (auto [d, offset] : llvm::enumerate(box.offset)) {
    auto index = [&] { return isl_aff_var_on_domain(isl_local_space_copy(local), isl_dim_set, values.size() + d); };
    isl_aff *first = toIsl(offset, values.size(), places, local);
    isl_aff *count = toIsl(box.extent[d], values.size(), places, local);
    if (!first || !count) {
      isl_aff_free(first);
      isl_aff_free(count);
      isl_set_free(set);
      isl_local_space_free(local);
      return false;
    }
    keep(isl_aff_sub(index(), isl_aff_copy(first)));
    keep(isl_aff_add_constant_si(isl_aff_sub(isl_aff_add(first, count), index()), -1));
  }
  isl_local_space_free(local);
  isl_map *needed = isl_map_intersect_domain(isl_set_unwrap(set), isl_map_domain(isl_map_copy(relation.get())));
  bool result = isl_map_is_subset(needed, relation.get()) == isl_bool_true;
  isl_map_free(needed);
  isl_ctx_reset_error(ctx);
  return result;
}

/// The innermost block around both.
static Block *blockAround(Operation *a, Operation *b) {
  for (Block *block = a->getBlock(); block; block = block->getParentOp()->getBlock())
    if (block->findAncestorOpInBlock(*b))
      return block;
  return nullptr;
}

/// The block around both, if `store` happens there whatever the data are, and in another operation than `load`; else
/// null.
static Block *blockOfStoreBefore(Operation *store, Operation *load) {
  Block *block = isa<AffineStoreOp>(store) ? blockAround(store, load) : nullptr;
  if (!block || block->findAncestorOpInBlock(*store) == block->findAncestorOpInBlock(*load))
    return nullptr;
  for (Operation *parent = store->getParentOp(); parent != block->getParentOp(); parent = parent->getParentOp())
    if (!isa<AffineForOp>(parent))
      return nullptr;
  return block;
}

bool tilewright::readsOwn(ArrayRef<Operation *> accesses) {
  for (auto [i, load] : llvm::enumerate(accesses)) {
    if (!isa<AffineLoadOp>(load))
      continue;
    llvm::SmallMapVector<Block *, TileRelation, 2> written; // by the stores of a block together
    const bool isOwn = llvm::any_of(llvm::reverse(accesses.take_front(i)), [&, load = load](Operation *store) {
      Block *block = blockOfStoreBefore(store, load);
      if (!block)
        return false;
      TileSets sets(*block);
      TileRelation &all = written[block];
      all = all ? all.unite(sets.touched(store)) : sets.touched(store);
      return sets.touched(load).isWithin(all);
    });
    if (!isOwn)
      return false;
  }
  return true;
}
