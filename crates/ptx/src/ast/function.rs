//! Functions, and what their bodies declare.

use std::ops::Range;

use super::{Class, Instruction, LabelId, Linkage, Name, Operand, Reg, Space, Type, Variable};

/// A kernel or device function, or its declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Line of the declaration, from 1.
    pub line: u32,
    /// How other modules see it.
    pub linkage: Linkage,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// Its name.
    pub name: Name,
    /// Return parameters; kernels have none.
    pub returns: Vec<Param>,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Launch bounds and the like, in text order.
    pub directives: Vec<Directive>,
    /// Absent in a declaration.
    pub body: Option<Body>,
}

/// Whether the host can launch a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.entry`.
    Entry,
    /// `.func`.
    Func,
}

/// A parameter in `.param` space.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name; `_` in prototypes.
    pub name: Name,
    /// Type of one element.
    pub ty: Type,
    /// `.align`, a power of two.
    pub align: Option<u32>,
    /// Elements of an array parameter such as `.b8 x[16]`.
    pub count: Option<u64>,
    /// The memory that a pointer points to, from `.ptr`.
    pub pointer: Option<Pointer>,
}

/// The `.ptr` attributes of a pointer parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The space it points into, generic without.
    pub space: Option<Space>,
    /// Alignment of the memory it points to.
    pub align: Option<u32>,
}

/// Where a parameter lies in the parameter buffer, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamLayout {
    /// First byte.
    pub offset: u64,
    /// Length.
    pub size: u64,
    /// Alignment.
    pub align: u64,
}

/// A performance or behaviour directive between parameter list and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// `.maxntid x, y, z`: most threads of a block.
    MaxThreads([u32; 3]),
    /// `.reqntid x, y, z`: exact threads of a block.
    RequiredThreads([u32; 3]),
    /// `.minnctapersm`.
    MinBlocks(u32),
    /// `.maxnreg`.
    MaxRegisters(u32),
    /// `.noreturn`.
    NoReturn,
    /// `.pragma "text"`.
    Pragma(Name),
    /// Any other, with its numbers.
    Other(Name, Vec<u32>),
}

/// The code of a function, nested scopes flattened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// Registers of all scopes that are declared by themselves or used.
    ///
    /// Ranges declare nothing beyond these.
    pub registers: Vec<Register>,
    /// Variables of all scopes.
    pub variables: Vec<Variable>,
    /// Instructions in text order.
    pub instructions: Vec<Instruction>,
    /// Labels in text order.
    pub labels: Vec<Label>,
    /// Lists of branch or call targets.
    pub targets: Vec<TargetList>,
    /// Prototypes of indirect calls.
    pub prototypes: Vec<Prototype>,
    /// Pragmas such as `nounroll`.
    pub pragmas: Vec<PragmaAt>,
    /// Scopes in the order of their opening braces; the first is the whole body.
    pub scopes: Vec<Scope>,
}

/// A register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name; registers of different scopes may share one.
    pub name: Name,
    /// The type it was declared with.
    pub ty: Type,
}

impl Register {
    /// The class of its values.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.ty.class()
    }
}

/// A label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub name: Name,
    /// The instruction it stands before; the number of instructions at the end of the body.
    pub at: usize,
    /// Index of the scope that declares it.
    pub scope: usize,
}

/// The use of a list of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// `.branchtargets`.
    Branch,
    /// `.calltargets`.
    Call,
}

/// `.branchtargets` or `.calltargets`.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetList {
    /// Which of the two it is.
    pub kind: TargetKind,
    /// Its label.
    pub name: Name,
    /// The instruction it stands before.
    pub at: usize,
    /// Index of the scope that declares it.
    pub scope: usize,
    /// [`Operand::Label`] of branch targets, [`Operand::Symbol`] of call targets.
    pub targets: Vec<Operand>,
}

/// `.callprototype`.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// Its label.
    pub name: Name,
    /// The instruction it stands before.
    pub at: usize,
    /// Index of the scope that declares it.
    pub scope: usize,
    /// Return parameters.
    pub returns: Vec<Param>,
    /// Parameters.
    pub params: Vec<Param>,
    /// Whether the callee never returns.
    pub noreturn: bool,
}

/// A pragma within a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PragmaAt {
    /// The instruction it stands before.
    pub at: usize,
    /// Index of the scope it stands in.
    pub scope: usize,
    /// The quoted text.
    pub text: Name,
}

/// A pair of braces in a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The scope around it; none for the body itself.
    pub parent: Option<usize>,
    /// The instructions inside, including inner scopes.
    pub instructions: Range<usize>,
    /// `.reg` declarations as written.
    pub registers: Vec<RegisterDeclaration>,
    /// Indices of its variables.
    pub variables: Vec<usize>,
}

/// One name of a `.reg` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterDeclaration {
    /// The declared type.
    pub ty: Type,
    /// The name, or the prefix of a range.
    pub name: Name,
    /// `%r<count>` declares `%r0` to `%r(count - 1)`.
    pub count: Option<u32>,
}

impl Param {
    /// Bytes of the parameter.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        match self.count {
            Some(count) => self.ty.bytes() * count,
            None => self.ty.bytes(),
        }
    }

    /// Alignment in bytes: as declared, else the alignment of one element.
    #[must_use]
    pub const fn alignment(&self) -> u64 {
        match self.align {
            Some(align) => align as u64,
            None => self.ty.bytes(),
        }
    }
}

impl Function {
    /// Where each parameter lies in the buffer a launch passes.
    #[must_use]
    pub fn param_layout(&self) -> Vec<ParamLayout> {
        let mut end = 0_u64;
        self.params
            .iter()
            .map(|param| {
                let (size, align) = (param.bytes(), param.alignment());
                let offset = end.next_multiple_of(align);
                end = offset + size;
                ParamLayout { offset, size, align }
            })
            .collect()
    }
}

impl Body {
    /// The register that `reg` stands for.
    ///
    /// # Panics
    /// If `reg` is of another body.
    #[must_use]
    pub fn register(&self, reg: Reg) -> &Register {
        &self.registers[reg.0 as usize]
    }

    /// The instruction that a branch to `label` runs next.
    ///
    /// At the end of the body, it is the number of instructions.
    ///
    /// # Panics
    /// If `label` is of another body.
    #[must_use]
    pub fn target(&self, label: LabelId) -> usize {
        self.labels[label.0 as usize].at
    }

    /// Removes the instruction at `index`; labels before it move to its successor.
    ///
    /// # Panics
    /// If there is no such instruction.
    pub fn remove(&mut self, index: usize) -> Instruction {
        let removed = self.instructions.remove(index);
        let ats = self.labels.iter_mut().map(|label| &mut label.at);
        let ats = ats.chain(self.targets.iter_mut().map(|list| &mut list.at));
        let ats = ats.chain(self.prototypes.iter_mut().map(|prototype| &mut prototype.at));
        let ats = ats.chain(self.pragmas.iter_mut().map(|pragma| &mut pragma.at));
        let ranges = self.scopes.iter_mut().map(|scope| &mut scope.instructions);
        let ats = ats.chain(ranges.flat_map(|range| [&mut range.start, &mut range.end]));
        for at in ats.filter(|at| **at > index) {
            *at -= 1;
        }
        removed
    }
}
