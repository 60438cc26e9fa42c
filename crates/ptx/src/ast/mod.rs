//! The parse tree: modules, variables, functions, instructions.

mod function;
mod index;
mod instruction;
mod special;
mod types;
mod variable;

pub use function::{
    Body, Directive, Function, FunctionKind, Label, Param, ParamLayout, Pointer, PragmaAt, Prototype, Register,
    RegisterDeclaration, Scope, TargetKind, TargetList,
};
pub use index::{LabelId, PrototypeId, Reg, TargetListId};
pub use instruction::{Address, AddressBase, Guard, Instruction, Opcode, Operand, SourceLine, Symbol};
pub use special::{Axis, Special};
pub use types::{Class, Linkage, Name, Space, Type};
pub use variable::{Image, Initialiser, Relocation, Shape, Variable};

/// One PTX module.
///
/// Debug sections are not kept; `.file` and `.loc` are.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// PTX version, major and minor.
    pub version: (u32, u32),
    /// Target architecture and its options: `sm_80`, `debug`.
    pub target: Vec<Name>,
    /// Bits of a generic address: 64, or 32 in old text.
    pub address_size: u32,
    /// Whether it has debug sections, which are not kept.
    pub has_sections: bool,
    /// `.file` entries: index and path.
    pub files: Vec<(u32, Name)>,
    /// Variables at module scope, in text order.
    pub globals: Vec<Variable>,
    /// Functions and declarations, in text order.
    pub functions: Vec<Function>,
}

impl Module {
    /// The definition named `name`, or its declaration where the module has no definition.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Function> {
        let named = || self.functions.iter().filter(|function| &*function.name == name);
        named().find(|function| function.body.is_some()).or_else(|| named().next())
    }

    /// The variable at module scope named `name`.
    #[must_use]
    pub fn global(&self, name: &str) -> Option<&Variable> {
        self.globals.iter().find(|variable| &*variable.name == name)
    }

    /// The kernels: entry functions with a body, in text order.
    pub fn entries(&self) -> impl Iterator<Item = (&Function, &Body)> {
        self.functions
            .iter()
            .filter(|function| function.kind == FunctionKind::Entry)
            .filter_map(|function| Some((function, function.body.as_ref()?)))
    }
}
