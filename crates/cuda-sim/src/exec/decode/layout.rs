//! Where variables and parameters lie.

use std::collections::HashMap;
use std::ops::Range;

use ptx::ast::{Function, Linkage, Module, Param, Shape, Space, Variable};

use super::build::{Decoded, Refusal};

/// Function handles are this plus the index of the function in the module.
pub(in crate::exec) const FUNCTION_HANDLES: u64 = 0x00fc_0000_0000_0000;

/// Where a symbol lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum SymbolLocation {
    /// Index of a module variable in global or constant memory.
    Global(u32),
    /// Offset in the shared memory of a block.
    Shared(u64),
    /// Offset in the local memory of a thread.
    Local(u64),
    /// Offset in the kernel's parameter buffer.
    Param(u64),
    /// Handle of a function.
    Function(u64),
}

/// Offsets of a function's parameters and variables in the local memory of a thread.
#[derive(Clone, Debug, Default)]
pub(in crate::exec) struct Frame {
    pub(in crate::exec) params: Vec<u64>,
    pub(in crate::exec) returns: Vec<u64>,
    /// One per body variable; unused for those in shared memory.
    pub(in crate::exec) variables: Vec<u64>,
    /// First byte past the frame.
    pub(in crate::exec) end: u64,
}

/// Module-wide places.
pub(in crate::exec) struct ModuleLayout<'a> {
    pub(in crate::exec) module: &'a Module,
    globals: HashMap<&'a str, u32>,
    functions: HashMap<&'a str, usize>,
    shared: HashMap<(&'a str, &'a str), u64>,
    /// Bytes of shared memory that is not sized at launch.
    pub(in crate::exec) static_shared: u64,
    /// The arrays in shared memory in the order of their addresses.
    ///
    /// The array that is sized at launch has no end.
    pub(in crate::exec) arrays: Vec<Range<u64>>,
}

/// Least distance between two arrays in shared memory.
///
/// An index that leads out of one leads to no other. It is a multiple of the bytes of all banks, so
/// each array keeps its banks.
const ARRAY_GAP: u64 = 1024;

/// Variables that a module defines in global or constant memory, in text order.
///
/// Module scope comes first, then function bodies.
pub(in crate::exec) fn global_variables(module: &Module) -> impl Iterator<Item = &Variable> {
    let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
    let inner = bodies.flat_map(|body| &body.variables);
    let placed = |variable: &&Variable| matches!(variable.space, Space::Global | Space::Const);
    module.globals.iter().chain(inner).filter(placed).filter(|variable| variable.linkage != Linkage::Extern)
}

/// Index of each function by name. A definition wins over declarations, which come first.
pub(in crate::exec) fn functions(module: &Module) -> HashMap<&str, usize> {
    let mut indices = HashMap::new();
    for (index, function) in module.functions.iter().enumerate() {
        if function.body.is_some() || !indices.contains_key(&*function.name) {
            indices.insert(&*function.name, index);
        }
    }
    indices
}

impl<'a> ModuleLayout<'a> {
    /// Lays out the module for kernel `entry`.
    ///
    /// The layout covers the kernel's shared variables and those in functions and the module.
    pub(in crate::exec) fn new(module: &'a Module, entry: &'a Function) -> Self {
        let globals = global_variables(module).zip(0..).map(|(variable, index)| (&*variable.name, index)).collect();
        let functions = functions(module);
        let (shared, arrays) = (HashMap::new(), Vec::new());
        let mut layout = Self { module, globals, functions, shared, static_shared: 0, arrays };
        let mut unsized_names = Vec::new();
        let at_module = module.globals.iter().map(|variable| ("", variable));
        let visible = module.functions.iter().filter(|f| f.kind != entry.kind || f.name == entry.name);
        let inner = visible.flat_map(|function| {
            let variables = function.body.iter().flat_map(|body| &body.variables);
            variables.map(|variable| (&*function.name, variable))
        });
        let mut dynamic_align = 1;
        // What gaps add to the address of the next array.
        let mut added = 0_u64;
        for (owner, variable) in at_module.chain(inner).filter(|(_, variable)| variable.space == Space::Shared) {
            let align = variable.alignment();
            if variable.shape == Shape::Unsized {
                dynamic_align = dynamic_align.max(align);
                unsized_names.push((owner, &*variable.name));
                continue;
            }
            let at = layout.static_shared.next_multiple_of(align);
            layout.static_shared = at + variable.bytes();
            if !layout.arrays.is_empty() {
                added = (added + ARRAY_GAP).next_multiple_of(align);
            }
            layout.arrays.push(at + added..layout.static_shared + added);
            layout.shared.insert((owner, &variable.name), at + added);
        }
        layout.static_shared = layout.static_shared.next_multiple_of(dynamic_align);
        if !unsized_names.is_empty() {
            if !layout.arrays.is_empty() {
                added = (added + ARRAY_GAP).next_multiple_of(dynamic_align);
            }
            layout.arrays.push(layout.static_shared + added..u64::MAX);
        }
        for key in unsized_names {
            layout.shared.insert(key, layout.static_shared + added);
        }
        layout
    }

    /// Bytes that gaps add to shared memory.
    pub(in crate::exec) fn gaps(&self) -> u64 {
        match &self.arrays[..] {
            [.., dynamic] if dynamic.end == u64::MAX => dynamic.start - self.static_shared,
            [.., last] => last.end - self.static_shared,
            [] => 0,
        }
    }

    /// A name of module scope.
    pub(in crate::exec) fn module_symbol(&self, name: &str) -> Decoded<SymbolLocation> {
        if let Some(&index) = self.globals.get(name) {
            return Ok(SymbolLocation::Global(index));
        }
        if let Some(&at) = self.shared.get(&("", name)) {
            return Ok(SymbolLocation::Shared(at));
        }
        if let Some(&index) = self.functions.get(name) {
            return Ok(SymbolLocation::Function(FUNCTION_HANDLES + index as u64));
        }
        Err(Refusal(format!("`{name}` is not defined in the module")))
    }

    /// A shared variable of a function body.
    pub(in crate::exec) fn shared_variable(&self, function: &Function, index: usize) -> Decoded<SymbolLocation> {
        let name = function.body.as_ref().map_or("", |body| &body.variables[index].name);
        let at = self.shared.get(&(&*function.name, name));
        at.map(|&at| SymbolLocation::Shared(at))
            .ok_or_else(|| Refusal(format!("`{name}` has no place in shared memory")))
    }

    /// Index of the function named `name`.
    pub(in crate::exec) fn function(&self, name: &str) -> Option<usize> {
        self.functions.get(name).copied()
    }
}

/// Lays out the frame of `function` from `base` on: parameters, results, then variables.
///
/// A kernel's parameters are not in local memory; theirs are offsets in the parameter buffer.
pub(in crate::exec) fn frame(function: &Function, base: u64, is_entry: bool) -> Frame {
    let mut frame = if is_entry {
        let params = function.param_layout().iter().map(|param| param.offset).collect();
        Frame { params, end: base, ..Frame::default() }
    } else {
        call_frame(&function.params, &function.returns, base)
    };
    let variables = function.body.iter().flat_map(|body| &body.variables);
    frame.variables = variables
        .map(|variable| match variable.space {
            Space::Local | Space::Param => place(&mut frame.end, variable.bytes(), variable.alignment()),
            Space::Shared | Space::Global | Space::Const => u64::MAX,
        })
        .collect();
    frame
}

/// Where a callee finds its arguments and puts its results, if its frame begins at `base`.
///
/// The frame has no variables yet.
pub(in crate::exec) fn call_frame(params: &[Param], returns: &[Param], base: u64) -> Frame {
    let mut frame = Frame { end: base, ..Frame::default() };
    // A declared alignment below the type's does not count.
    let mut take = |param: &Param| place(&mut frame.end, param.bytes(), param.alignment().max(param.ty.bytes()));
    frame.params = params.iter().map(&mut take).collect();
    frame.returns = returns.iter().map(take).collect();
    frame
}

/// The next place of `bytes` bytes from `end` on, which moves past it.
fn place(end: &mut u64, bytes: u64, align: u64) -> u64 {
    let at = end.next_multiple_of(align);
    *end = at + bytes;
    at
}
