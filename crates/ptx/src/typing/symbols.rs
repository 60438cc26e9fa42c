//! What names stand for.

use std::collections::HashMap;

use crate::ast::{Body, Function, Linkage, Module, Space, Symbol};

/// The object that a symbol names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Named<'module> {
    /// A variable outside `.param` space.
    Variable(Space),
    /// A parameter of the function itself.
    Parameter,
    /// A parameter that the function returns.
    Return,
    /// A variable that passes an argument to a call or takes its result.
    Argument,
    Function(&'module Function),
}

impl Named<'_> {
    /// The state space it lies in; none for functions.
    pub(super) const fn space(self) -> Option<Space> {
        match self {
            Self::Variable(space) => Some(space),
            Self::Parameter | Self::Return | Self::Argument => Some(Space::Param),
            Self::Function(_) => None,
        }
    }
}

/// The names of module scope.
pub(super) struct Symbols<'module> {
    names: HashMap<&'module str, Named<'module>>,
}

impl<'module> Symbols<'module> {
    pub(super) fn new(module: &'module Module) -> Self {
        let variables = module.globals.iter().map(|variable| (&*variable.name, Named::Variable(variable.space)));
        let functions = module.functions.iter().map(|function| (&*function.name, Named::Function(function)));
        Self { names: variables.chain(functions).collect() }
    }

    /// What `symbol` names in `body`; none for a name that the module does not declare.
    pub(super) fn named(&self, body: &Body, symbol: &Symbol) -> Option<Named<'module>> {
        Some(match symbol {
            Symbol::Local(index) => match body.variables[*index as usize].space {
                Space::Param => Named::Argument,
                space => Named::Variable(space),
            },
            Symbol::Param(_) => Named::Parameter,
            Symbol::Return(_) => Named::Return,
            Symbol::Module(name) => return self.of_module(name),
        })
    }

    /// The object of a name of module scope.
    pub(super) fn of_module(&self, name: &str) -> Option<Named<'module>> {
        self.names.get(name).copied()
    }
}

/// Whether the module has the body of a function.
pub(super) fn is_there(function: &Function) -> bool {
    function.body.is_some() || function.linkage != Linkage::Extern
}
