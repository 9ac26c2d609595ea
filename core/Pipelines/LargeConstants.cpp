//===- LargeConstants.cpp - Constants that LLVM does not see --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reserves space for constants, and gives the files of compiled code their contents.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/LargeConstants.h"
#include "core/Pipelines/FileMemory.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/SwapByteOrder.h"
#include "llvm/Target/TargetMachine.h"

using namespace tilewright;
using namespace llvm::ELF;

/// LLVM writes a section without contents where its name begins so; then it gets its own name, of the same length.
static constexpr llvm::StringLiteral nameForLLVM = ".llvm.linkonce.b.", name = ".tilewright.large";
static_assert(nameForLLVM.size() == name.size());
static constexpr uint64_t alignment = 64;

llvm::ArrayRef<char> tilewright::largeConstant(mlir::Operation *op) {
  auto global = llvm::dyn_cast<mlir::LLVM::GlobalOp>(op);
  auto value = global ? llvm::dyn_cast_or_null<mlir::ElementsAttr>(global.getValueOrNull()) : nullptr;
  if (!value || value.isSplat())
    return {};
  mlir::Type element = value.getElementType();
  if (!element.isIntOrFloat() || !llvm::is_contained({8u, 16u, 32u, 64u}, element.getIntOrFloatBitWidth()))
    return {};
  llvm::ArrayRef<char> bytes;
  if (auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(value)) {
    bytes = dense.getRawData();
  } else if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(value)) {
    if (mlir::AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      bytes = blob->getData();
  }
  const uint64_t size = value.getNumElements() * (element.getIntOrFloatBitWidth() / 8);
  return bytes.size() == size && size >= largeConstantBytes ? bytes : llvm::ArrayRef<char>();
}

/// Where a constant's address is taken; nothing where something else refers to it.
static std::optional<llvm::SmallVector<mlir::LLVM::AddressOfOp>> addressesOf(mlir::LLVM::GlobalOp global,
                                                                             mlir::ModuleOp module) {
  auto uses = mlir::SymbolTable::getSymbolUses(global, module);
  if (!uses)
    return std::nullopt;
  llvm::SmallVector<mlir::LLVM::AddressOfOp> addresses;
  for (const mlir::SymbolTable::SymbolUse &use : *uses) {
    auto address = llvm::dyn_cast<mlir::LLVM::AddressOfOp>(use.getUser());
    if (!address || !address->getParentOfType<mlir::LLVM::LLVMFuncOp>())
      return std::nullopt;
    addresses.push_back(address);
  }
  return addresses;
}

LargeConstants LargeConstants::reserve(mlir::ModuleOp module, const llvm::TargetMachine &machine) {
  const llvm::Triple &triple = machine.getTargetTriple();
  LargeConstants constants;
  if (!triple.isOSBinFormatELF() || !triple.isLittleEndian() || !triple.isArch64Bit() || !llvm::sys::IsLittleEndianHost)
    return constants;
  constexpr llvm::StringLiteral symbol = "tilewright.constants";
  mlir::OpBuilder builder(module.getContext());
  for (auto global : llvm::make_early_inc_range(module.getOps<mlir::LLVM::GlobalOp>())) {
    llvm::ArrayRef<char> bytes = largeConstant(global);
    if (bytes.empty() || !global.getConstant() || global.getAlignment().value_or(0) > alignment)
      continue;
    auto addresses = addressesOf(global, module);
    if (!addresses)
      continue;
    auto equal = llvm::find_if(constants.parts, [&](const Part &each) { return each.bytes == bytes; });
    const bool isNew = equal == constants.parts.end();
    const uint64_t offset = isNew ? llvm::alignTo(constants.size, alignment) : equal->offset;
    if (isNew) {
      constants.parts.push_back({offset, bytes, global->hasAttr(filedAttr)});
      constants.size = offset + bytes.size();
    }
    for (mlir::LLVM::AddressOfOp address : *addresses) {
      builder.setInsertionPoint(address);
      mlir::Location loc = address.getLoc();
      mlir::Value base = mlir::LLVM::AddressOfOp::create(builder, loc, address.getType(), symbol);
      mlir::Value steps = mlir::LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(offset));
      mlir::Value place = mlir::LLVM::GEPOp::create(builder, loc, address.getType(), builder.getI8Type(), base,
                                                    llvm::ArrayRef<mlir::LLVM::GEPArg>(steps));
      address.replaceAllUsesWith(place);
      address.erase();
    }
    global.erase();
  }
  if (constants.parts.empty())
    return constants;
  builder.setInsertionPointToStart(module.getBody());
  auto type = mlir::LLVM::LLVMArrayType::get(builder.getI8Type(), constants.size);
  auto reserved =
      mlir::LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/true, mlir::LLVM::Linkage::Internal,
                                   symbol, mlir::LLVM::ZeroAttr::get(module.getContext()), alignment);
  reserved.setExternallyInitialized(true); // its zeros are no numbers to compute with
  reserved.setSection(nameForLLVM);
  return constants;
}

//===-- Files -------------------------------------------------------------===//

void Artifact::write(llvm::raw_ostream &os) const {
  os << llvm::StringRef(bytes).take_front(position);
  uint64_t written = 0;
  for (const LargeConstants::Part &part : constants.parts) {
    os.write_zeros(part.offset - written);
    llvm::StringRef rest(part.bytes.data(), part.bytes.size());
    while (part.isFile && rest.size() > FileMemory::window) {
      os << rest.take_front(FileMemory::window);
      letGo(rest.take_front(FileMemory::window));
      rest = rest.drop_front(FileMemory::window);
    }
    os << rest;
    written = part.offset + part.bytes.size();
  }
  os << llvm::StringRef(bytes).drop_front(position);
}

std::string Artifact::whole() && {
  if (constants.parts.empty())
    return std::move(bytes);
  std::string file;
  file.reserve(size());
  llvm::raw_string_ostream os(file);
  write(os);
  return file;
}

using Elf = llvm::object::ELF64LE;

/// Where a file's header of the reserved section lies, and what it says; nothing where it has none.
static llvm::Expected<std::optional<std::pair<uint64_t, Elf::Shdr>>> reservedSection(llvm::StringRef file,
                                                                                     llvm::StringRef wanted) {
  using Found = std::optional<std::pair<uint64_t, Elf::Shdr>>;
  auto elf = llvm::object::ELFFile<Elf>::create(file);
  if (!elf)
    return elf.takeError();
  auto sections = elf->sections();
  if (!sections)
    return sections.takeError();
  for (const Elf::Shdr &section : *sections) {
    auto found = elf->getSectionName(section);
    if (!found)
      return found.takeError();
    if (*found == wanted)
      return Found(std::in_place, reinterpret_cast<const char *>(&section) - file.data(), section);
  }
  return Found();
}

llvm::Expected<std::string> tilewright::reservedObject(llvm::StringRef object) {
  auto found = reservedSection(object, nameForLLVM);
  if (!found)
    return found.takeError();
  std::string file = object.str();
  if (!*found)
    return file;
  auto [place, section] = **found;
  section.sh_flags = section.sh_flags & ~uint64_t(SHF_WRITE);
  std::memcpy(file.data() + place, &section, sizeof section);
  auto elf = llvm::cantFail(llvm::object::ELFFile<Elf>::create(object));
  const Elf::Shdr &names = llvm::cantFail(elf.sections())[elf.getHeader().e_shstrndx];
  std::memcpy(file.data() + names.sh_offset + section.sh_name, name.data(), name.size());
  return file;
}

llvm::Expected<Artifact> tilewright::objectFile(llvm::StringRef object, LargeConstants constants) {
  Artifact artifact;
  if (constants.parts.empty()) {
    artifact.bytes = object.str();
    return artifact;
  }
  auto file = reservedObject(object);
  if (!file)
    return file.takeError();
  artifact.bytes = std::move(*file);
  auto found = reservedSection(artifact.bytes, name);
  if (!found)
    return found.takeError();
  if (!*found) // no code reads them
    return artifact;
  artifact.bytes.resize(llvm::alignTo(artifact.bytes.size(), alignment));
  auto [place, section] = **found;
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = artifact.position = artifact.bytes.size();
  std::memcpy(artifact.bytes.data() + place, &section, sizeof section);
  artifact.constants = std::move(constants);
  return artifact;
}

/// Makes room in a linked file whose reserved section is the last of its segment, so that the file has no bytes of it:
/// what follows moves by whole pages. Gives the place of the section's first byte.
///
///   headers | segment | segment ...     ->     headers | segment, reserved section | rest of a page | segment ...
static llvm::Expected<uint64_t> insertSection(std::string &file, uint64_t place, const Elf::Phdr &segment) {
  auto at = [&](uint64_t offset) { return file.data() + offset; };
  auto *header = reinterpret_cast<Elf::Ehdr *>(at(0));
  auto *section = reinterpret_cast<Elf::Shdr *>(at(place));
  const uint64_t end = segment.p_offset + segment.p_filesz;
  const uint64_t begin = segment.p_offset + (section->sh_addr - segment.p_vaddr);
  const uint64_t size = section->sh_size;
  if (begin < end || section->sh_addr + size != segment.p_vaddr + segment.p_memsz || header->e_phoff >= end)
    return llvm::createStringError("the linker has put the constants where they cannot be written");
  llvm::MutableArrayRef<Elf::Phdr> segments(reinterpret_cast<Elf::Phdr *>(at(header->e_phoff)), header->e_phnum);
  llvm::MutableArrayRef<Elf::Shdr> sections(reinterpret_cast<Elf::Shdr *>(at(header->e_shoff)), header->e_shnum);
  uint64_t page = 1;
  for (const Elf::Phdr &each : segments)
    page = std::max<uint64_t>(page, each.p_align);
  const uint64_t moved = llvm::alignTo(begin + size - end, page);
  for (Elf::Phdr &each : segments)
    if (each.p_vaddr == segment.p_vaddr && each.p_type == PT_LOAD)
      each.p_filesz = segment.p_memsz;
    else if (each.p_offset >= end)
      each.p_offset = each.p_offset + moved;
  for (Elf::Shdr &each : sections)
    if (each.sh_offset >= end && &each != section)
      each.sh_offset = each.sh_offset + moved;
  section->sh_type = SHT_PROGBITS;
  section->sh_offset = begin;
  header->e_shoff = header->e_shoff + moved;
  file.insert(end, moved - size, '\0'); // `begin - end` of them before the constants
  return begin;
}

/// Leaves the reserved section's bytes, which the linker did not write, out of a file that has room for them.
static uint64_t leaveOut(std::string &bytes, llvm::StringRef file, uint64_t place, Elf::Shdr section) {
  const uint64_t begin = section.sh_offset, end = begin + section.sh_size;
  bytes.reserve(file.size() - section.sh_size);
  bytes = file.take_front(begin);
  bytes += file.drop_front(end);
  section.sh_type = SHT_PROGBITS;
  std::memcpy(bytes.data() + (place < begin ? place : place - section.sh_size), &section, sizeof section);
  return begin;
}

llvm::Expected<Artifact> tilewright::linkedFile(llvm::StringRef path, LargeConstants constants) {
  // Mapped: room for constants, which is empty, is not read.
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), "cannot read what was linked: %s",
                                   buffer.getError().message().c_str());
  llvm::StringRef file = (*buffer)->getBuffer();
  Artifact artifact;
  std::optional<std::pair<uint64_t, Elf::Shdr>> reserved;
  if (!constants.parts.empty()) {
    auto found = reservedSection(file, name);
    if (!found)
      return found.takeError();
    reserved = *found;
  }
  if (!reserved) { // no constants, or no code reads them
    artifact.bytes = file.str();
    return artifact;
  }
  auto [place, section] = *reserved;
  auto segments = llvm::cantFail(llvm::object::ELFFile<Elf>::create(file)).program_headers();
  if (!segments)
    return segments.takeError();
  const Elf::Phdr *segment = llvm::find_if(*segments, [&section = section](const Elf::Phdr &each) {
    return each.p_type == PT_LOAD && each.p_vaddr <= section.sh_addr &&
           section.sh_addr + section.sh_size <= each.p_vaddr + each.p_memsz;
  });
  if (section.sh_size != constants.size || segment == segments->end())
    return llvm::createStringError("the linker has put the constants where they cannot be written");
  section.sh_offset = segment->p_offset + (section.sh_addr - segment->p_vaddr);
  if (section.sh_offset + section.sh_size <= segment->p_offset + segment->p_filesz) {
    artifact.position = leaveOut(artifact.bytes, file, place, section);
  } else {
    artifact.bytes = file.str();
    auto begin = insertSection(artifact.bytes, place, Elf::Phdr(*segment));
    if (!begin)
      return begin.takeError();
    artifact.position = *begin;
  }
  artifact.constants = std::move(constants);
  return artifact;
}
