//! Bodies: the statements of each scope in their places.

use std::fmt::{self, Write};

use super::{operand::write_operand, write_params, write_variable};
use crate::ast::{Body, Function, Instruction, SourceLine, TargetKind};

/// A statement that stands before an instruction without being one.
enum Mark {
    Label(usize),
    Targets(usize),
    Prototype(usize),
    Pragma(usize),
}

/// The marks of one scope that are not written yet, last first.
type Marks = Vec<(usize, Mark)>;

/// Where the writer of a body stands.
struct Cursor<'body> {
    function: &'body Function,
    body: &'body Body,
    /// Marks of each scope.
    marks: Vec<Marks>,
    /// Scopes directly within each scope.
    children: Vec<Vec<usize>>,
    source: Option<SourceLine>,
}

/// The body in braces, and a line end.
pub(super) fn write_body(out: &mut String, function: &Function, body: &Body) -> fmt::Result {
    let mut children = vec![Vec::new(); body.scopes.len()];
    for (index, scope) in body.scopes.iter().enumerate() {
        if let Some(parent) = scope.parent {
            children[parent].push(index);
        }
    }
    let mut cursor = Cursor { function, body, marks: marks(body), children, source: None };
    cursor.write_scope(out, 0)
}

/// The marks of each scope, ordered so that the first to write is the last.
fn marks(body: &Body) -> Vec<Marks> {
    let mut marks: Vec<Marks> = body.scopes.iter().map(|_| Vec::new()).collect();
    for (index, label) in body.labels.iter().enumerate() {
        marks[label.scope].push((label.at, Mark::Label(index)));
    }
    for (index, prototype) in body.prototypes.iter().enumerate() {
        marks[prototype.scope].push((prototype.at, Mark::Prototype(index)));
    }
    for (index, list) in body.targets.iter().enumerate() {
        marks[list.scope].push((list.at, Mark::Targets(index)));
    }
    for (index, pragma) in body.pragmas.iter().enumerate() {
        marks[pragma.scope].push((pragma.at, Mark::Pragma(index)));
    }
    for marks in &mut marks {
        // The sort is stable, so marks of one place keep their order.
        marks.reverse();
        marks.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    }
    marks
}

impl Cursor<'_> {
    fn write_scope(&mut self, out: &mut String, index: usize) -> fmt::Result {
        let scope = &self.body.scopes[index];
        out.push_str(if index == 0 { "{\n" } else { "\t{\n" });
        for variable in &scope.variables {
            out.push('\t');
            write_variable(out, &self.body.variables[*variable])?;
        }
        for declaration in &scope.registers {
            write!(out, "\t.reg .{} {}", declaration.ty.name(), declaration.name)?;
            match declaration.count {
                Some(count) => writeln!(out, "<{count}>;")?,
                None => out.push_str(";\n"),
            }
        }
        let mut at = scope.instructions.start;
        for child in std::mem::take(&mut self.children[index]) {
            let inner = &self.body.scopes[child].instructions;
            self.write_until(out, index, at, inner.start)?;
            self.write_scope(out, child)?;
            at = inner.end;
        }
        self.write_until(out, index, at, scope.instructions.end)?;
        out.push_str(if index == 0 { "}\n" } else { "\t}\n" });
        Ok(())
    }

    /// The instructions `at..end` and the marks of `scope` up to and at `end`.
    fn write_until(&mut self, out: &mut String, scope: usize, at: usize, end: usize) -> fmt::Result {
        for index in at..end {
            self.write_marks(out, scope, index)?;
            self.write_instruction(out, &self.body.instructions[index])?;
        }
        self.write_marks(out, scope, end)
    }

    fn write_marks(&mut self, out: &mut String, scope: usize, at: usize) -> fmt::Result {
        while let Some((_, mark)) = self.marks[scope].pop_if(|(place, _)| *place <= at) {
            match mark {
                Mark::Label(label) => writeln!(out, "{}:", self.body.labels[label].name)?,
                Mark::Pragma(pragma) => writeln!(out, "\t.pragma \"{}\";", self.body.pragmas[pragma].text)?,
                Mark::Targets(list) => self.write_targets(out, list)?,
                Mark::Prototype(prototype) => {
                    let prototype = &self.body.prototypes[prototype];
                    write!(out, "{}: .callprototype ", prototype.name)?;
                    if !prototype.returns.is_empty() {
                        write_params(out, &prototype.returns, " ")?;
                        out.push(' ');
                    }
                    out.push('_');
                    write_params(out, &prototype.params, " ")?;
                    out.push_str(if prototype.noreturn { " .noreturn;\n" } else { ";\n" });
                }
            }
        }
        Ok(())
    }

    fn write_targets(&self, out: &mut String, list: usize) -> fmt::Result {
        let list = &self.body.targets[list];
        let directive = match list.kind {
            TargetKind::Branch => "branchtargets",
            TargetKind::Call => "calltargets",
        };
        write!(out, "{}: .{directive} ", list.name)?;
        for (index, target) in list.targets.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            write_operand(out, self.function, self.body, target)?;
        }
        out.push_str(";\n");
        Ok(())
    }

    fn write_instruction(&mut self, out: &mut String, instruction: &Instruction) -> fmt::Result {
        if instruction.source != self.source
            && let Some(SourceLine { file, line, column }) = instruction.source
        {
            writeln!(out, "\t.loc {file} {line} {column}")?;
            self.source = instruction.source;
        }
        out.push('\t');
        write_bare(out, self.function, self.body, instruction)?;
        out.push('\n');
        Ok(())
    }
}

/// An instruction up to its semicolon.
pub(super) fn write_bare(out: &mut String, function: &Function, body: &Body, instruction: &Instruction) -> fmt::Result {
    if let Some(guard) = instruction.guard {
        let register = &body.register(guard.register).name;
        write!(out, "@{}{register} ", if guard.negated { "!" } else { "" })?;
    }
    out.push_str(instruction.opcode.text());
    for (index, operand) in instruction.operands.iter().enumerate() {
        out.push_str(if index == 0 { " " } else { ", " });
        write_operand(out, function, body, operand)?;
    }
    out.push(';');
    Ok(())
}
