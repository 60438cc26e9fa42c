//! From the parse tree to [`Code`]: one pass per kernel, at load time.
//!
//! A function is decoded once per call depth at which it can run, with separate registers and local
//! memory there; so lanes of one warp that stand at different calls never share a register. Code of
//! deeper calls comes first: running the fragment with the lowest step then runs callees before
//! callers.

mod body;
mod build;
mod control;
mod convert;
mod float;
mod integer;
mod layout;
mod memory;
mod sync;

use std::collections::{BTreeSet, HashMap};

use ptx::ast::{Instruction, Module, Operand, Symbol};

use self::body::Body;
use self::build::{Build, Refusal};
pub(super) use self::layout::{FUNCTION_HANDLES, functions, global_variables};
use self::layout::{ModuleLayout, frame};
use super::code::{Code, CodeStep, MAX_DEPTH, NO_GUARD, StepOp, StepOrigin};
use super::forks;
use super::register::R;

/// Most local memory of a thread, in bytes.
pub(super) const MAX_LOCAL: u64 = 512 << 10;

/// Why a kernel was not decoded: the line of an instruction or a function, and the reason.
pub(super) struct Undecoded {
    pub(super) line: u32,
    pub(super) reason: String,
}

/// A function decoded at one depth; targets are still relative to it.
struct Chunk {
    function: usize,
    depth: u32,
    back: R,
    steps: Vec<CodeStep>,
    origin: Vec<u32>,
}

/// Decodes kernel `entry`, the function of that index in the module.
pub(super) fn decode(module: &Module, entry: usize) -> Result<Code, Undecoded> {
    let kernel = &module.functions[entry];
    let layout = ModuleLayout::new(module, kernel);
    let mut build = Build::default();
    (build.code.shared_granule, build.code.global_granule) = (4, 4);
    let taken = address_taken(module);
    let mut chunks = Vec::new();
    let mut level = BTreeSet::from([entry]);
    let mut seen = BTreeSet::new();
    let mut base = 0;
    for depth in 0..MAX_DEPTH {
        let frames = level.iter().map(|&index| frame(&module.functions[index], base, depth == 0));
        let frames: Vec<_> = frames.collect();
        let callee_base = frames.iter().map(|frame| frame.end).max().unwrap_or(base);
        if callee_base > MAX_LOCAL && level.is_subset(&seen) {
            // A recursion that there is no room for is a fault when it gets there.
            break;
        }
        seen.extend(&level);
        let mut called = BTreeSet::new();
        for (&index, frame) in level.iter().zip(frames) {
            let function = &module.functions[index];
            let refuse = |line, Refusal(reason)| Undecoded { line, reason };
            let Some(source) = &function.body else {
                let reason = format!("`{}` has no body", function.name);
                return Err(Undecoded { line: function.line, reason });
            };
            let body = Body::new(&mut build, &layout, function, source, frame, callee_base);
            let mut body = body.map_err(|refusal| refuse(function.line, refusal))?;
            let chunk = decode_function(&mut body, index, depth)?;
            called.append(&mut body.calls);
            if body.indirect {
                called.extend(taken.iter().copied().filter(|&index| module.functions[index].body.is_some()));
            }
            chunks.push(chunk);
        }
        base = callee_base;
        level = called;
        if level.is_empty() {
            break;
        }
    }
    build.code.static_shared = layout.static_shared;
    build.code.gaps = layout.gaps();
    build.code.arrays = layout.arrays;
    build.code.local = base;
    build.code.params = kernel.param_layout().last().map_or(0, |last| last.offset + last.size);
    let mut code = link(build.code, chunks, &taken);
    forks::mark(&mut code);
    Ok(code)
}

fn decode_function(body: &mut Body<'_>, function: usize, depth: u32) -> Result<Chunk, Undecoded> {
    let mut starts = Vec::new();
    for instruction in &body.body.instructions {
        body.at = starts.len();
        starts.push(body.steps.len() as u32);
        let origin = body.build.code.origins.len() as u32;
        body.build.code.origins.push(origin_of(instruction));
        let decoded = body.begin(instruction).and_then(|()| body.instruction(instruction));
        decoded.map_err(|Refusal(reason)| Undecoded { line: instruction.line, reason })?;
        body.origin.resize(body.steps.len(), origin);
    }
    starts.push(body.steps.len() as u32);
    let end = if body.is_entry { StepOp::Exit } else { StepOp::Return(body.back) };
    body.steps.push(CodeStep { guard: NO_GUARD, negated: false, op: end });
    let last = body.origin.last().copied().unwrap_or_default();
    body.origin.push(last);
    for step in &mut body.steps {
        match &mut step.op {
            StepOp::Bra(target) => *target = starts[*target as usize],
            StepOp::BraTable(_, table) => {
                let table = &mut body.build.code.tables[*table as usize];
                table.iter_mut().for_each(|target| *target = starts[*target as usize]);
            }
            _ => {}
        }
    }
    let (steps, origin) = (std::mem::take(&mut body.steps), std::mem::take(&mut body.origin));
    Ok(Chunk { function, depth, back: body.back, steps, origin })
}

fn origin_of(instruction: &Instruction) -> StepOrigin {
    let source = instruction.source.map(|source| (source.file, source.line));
    StepOrigin { line: instruction.line, source }
}

/// Functions whose address some instruction or initialiser takes.
fn address_taken(module: &Module) -> BTreeSet<usize> {
    let functions = functions(module);
    let index_of = |name: &str| functions.get(name).copied();
    let mut taken = BTreeSet::new();
    for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
        for instruction in body.instructions.iter().filter(|ins| ins.opcode.base() == "mov") {
            for operand in &instruction.operands {
                if let Operand::Symbol { symbol: Symbol::Module(name), .. } = operand {
                    taken.extend(index_of(name));
                }
            }
        }
    }
    for variable in global_variables(module) {
        taken.extend(variable.image().relocations.iter().filter_map(|place| index_of(&place.symbol)));
    }
    taken
}

/// Puts the chunks together, deepest first, and resolves branches and calls.
fn link(mut code: Code, mut chunks: Vec<Chunk>, taken: &BTreeSet<usize>) -> Code {
    chunks.reverse();
    let mut base = 0;
    let mut places = HashMap::new();
    for chunk in &chunks {
        places.insert((chunk.function, chunk.depth), (base, chunk.back));
        base += chunk.steps.len() as u32;
    }
    for chunk in chunks {
        let (base, _) = places[&(chunk.function, chunk.depth)];
        if chunk.depth == 0 {
            code.start = base;
        }
        let deeper = chunk.depth + 1;
        for mut step in chunk.steps {
            match step.op {
                StepOp::Bra(target) => step.op = StepOp::Bra(target + base),
                StepOp::BraTable(_, table) => {
                    code.tables[table as usize].iter_mut().for_each(|target| *target += base);
                }
                StepOp::Call { target, .. } => {
                    step.op = match places.get(&(target as usize, deeper)) {
                        Some(&(target, back)) => StepOp::Call { target, back },
                        None => StepOp::TooDeep,
                    };
                }
                StepOp::CallTable { handle, .. } => {
                    let reachable = taken.iter().filter_map(|&index| {
                        let &(target, back) = places.get(&(index, deeper))?;
                        Some((FUNCTION_HANDLES + index as u64, target, back))
                    });
                    let reachable: Vec<_> = reachable.collect();
                    step.op = StepOp::CallTable { handle, table: code.calls.len() as u32 };
                    code.calls.push(reachable);
                }
                _ => {}
            }
            code.steps.push(step);
        }
        code.origin.extend(chunk.origin);
    }
    code
}
