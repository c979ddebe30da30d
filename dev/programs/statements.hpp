// The kinds of statements, one function each. Every one writes PTX whose result the manual and the
// program's number decide alone: no race, no register without a value, no address out of range.
#pragma once

#include "dev/programs/textures.hpp"
#include "dev/programs/writer.hpp"

namespace ptx2spv::programs {

/// What surfaces and textures a program has; its text and its launch both follow from it.
struct Resources {
  SurfaceChoice loads, stores;
  recorder::TextureSetup texture[2];
  bool use_surfaces = false, use_textures = false;
  unsigned stored_rows = 0;  ///< of the surface that is stored to, one for each statement
};

/// Everything that statements need.
struct Context {
  const Vocabulary& vocabulary;
  Resources& resources;
};

/// An instruction of `group` at random. False: this place has none of it.
bool statement(Writer& w, Context& context, const Group& group);
/// Something that no single row stands for: packs, tables, calls, loops, exchanges.
void structure(Writer& w, Context& context);

// By kind; each returns false where the place does not allow it.
bool plain(Writer& w, const Group& group, const std::string& text);
bool memory(Writer& w, const std::string& text);
bool atomic(Writer& w, const std::string& text);
bool address_query(Writer& w, const std::string& text);
bool warp(Writer& w, const std::string& text);
bool barrier(Writer& w, const std::string& text);
void move(Writer& w);
void vectors(Writer& w);
void stack(Writer& w);
void fences(Writer& w);
void table(Writer& w);
void exchange(Writer& w);
void branch(Writer& w, Context& context);
void loop(Writer& w, Context& context);
void jump_table(Writer& w, Context& context);
void call(Writer& w, Context& context);
void surface(Writer& w, Resources& resources);
void texture(Writer& w, Context& context);

}  // namespace ptx2spv::programs
