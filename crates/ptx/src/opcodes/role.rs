//! What an instruction expects of each of its operands.

use crate::ast::{Space, Type};

/// A type as the signature of a family of opcodes names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// The last type of the opcode: `f32` of `cvt.rzi.s32.f32`.
    Last,
    /// The type before the last one: `s32` of `cvt.rzi.s32.f32`.
    Before,
    /// Twice as wide as the last one: `u64` of `mul.wide.u32`.
    Wide,
    /// This one.
    Of(Type),
}

/// What an instruction expects of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A register to write, of the type's width.
    To(Ty),
    /// A register to write, or `_`.
    ToOrSink(Ty),
    /// A register to write, of the type's width or wider.
    ToWider(Ty),
    /// A register to write, and after `|` a predicate.
    ToAndPred(Ty),
    /// The same, where `_` may take the place of either.
    ToAndPredOrSink(Ty),
    /// A predicate to write.
    ToPred,
    /// A predicate to write, or `_`.
    ToPredOrSink,
    /// One or two predicates to write, or `_` in place of either.
    ToPreds,
    /// A register to write, or a vector of its parts.
    ToParts(Ty),
    /// This many registers in braces to write.
    ToVector(usize, Ty),
    /// Registers to write, in the number of `.v2` or `.v4`, of the type's width or wider.
    Loaded,
    /// A register of the type's width, or a number.
    From(Ty),
    /// A register of the type's width or wider, or a number.
    FromWider(Ty),
    /// The same, or a special register.
    FromWiderOrSpecial(Ty),
    /// A register, number, special register, symbol address, or vector of parts.
    ///
    /// A register has the type's width.
    FromParts(Ty),
    /// A register, or a number written as the bits of the type.
    FromBits(Ty),
    /// A predicate or its negation, or a number.
    FromPred,
    /// A predicate register that is moved.
    FromPredOrSpecial,
    /// This many registers or numbers in braces.
    FromVector(usize, Ty),
    /// This many registers in braces to read.
    FromRegisters(usize, Ty),
    /// Registers or numbers, in the number of `.v2` or `.v4`, of the type's width or wider.
    Stored,
    /// A 32-bit or 64-bit register with an address, or a number.
    Pointer,
    /// An address within a space: a register, a number, or a symbol of that space.
    AddressOf(Space),
    /// A place in brackets to read, in the space that the opcode names.
    Read,
    /// A place in brackets to write, in the space that the opcode names.
    Write,
    /// A place in brackets to read and write at once, in the space that the opcode names.
    Update,
    /// A place in brackets, in this space.
    Place(Space),
    /// Any number.
    Number,
    /// One of these numbers.
    OneOf(&'static [i64]),
    /// A 32-bit register, or a number from 0 to 255.
    Byte,
    /// A 32-bit register, or the number of a barrier.
    Barrier,
    /// A 32-bit register, or a number of threads: whole warps.
    Threads,
    /// The same, but not 0.
    SomeThreads,
    /// The number of bytes `cp.async` reads.
    ///
    /// It is a 32-bit register, or a number from 0 to the operand before; or a predicate under
    /// which it reads none.
    CopySource,
    /// A label of the function.
    Label,
    /// A list of branch targets.
    Targets,
}

/// The operands of an instruction, in order.
pub type Signature = &'static [Role];
