//! The families of programs: what each of them is made of.

use super::{
    program::Program,
    random::Random,
    types::{NARROW, Type, WIDE, WORDS},
};

/// Programs of one kind; one file and one kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    pub(super) name: &'static str,
    /// Description of the programs, for the head of the file.
    pub(super) about: &'static str,
    /// The number of programs.
    pub(super) count: usize,
    /// Writes one of them, under this number.
    write: fn(&mut Random, usize) -> String,
}

pub(super) const FAMILIES: [Family; 9] = [
    Family { name: "narrow", about: "Integers of 8 and 16 bits.", count: 34, write: narrow },
    Family { name: "words", about: "Integers of 32 and 64 bits.", count: 34, write: words },
    Family { name: "wide", about: "Integers of 128 bits.", count: 20, write: wide },
    Family { name: "single", about: "Floats of 32 bits.", count: 32, write: single },
    Family { name: "double", about: "Floats of 64 bits.", count: 28, write: double },
    Family { name: "casts", about: "Casts between integers and floats of all widths.", count: 28, write: casts },
    Family { name: "control", about: "Branches, loops and tables of cases.", count: 18, write: control },
    Family { name: "arrays", about: "Arrays on the stack and constant tables.", count: 10, write: arrays },
    Family { name: "calls", about: "Calls, direct and through tables.", count: 8, write: calls },
];

impl Family {
    /// The text of program `index`.
    pub(super) fn program(&self, random: &mut Random, index: usize) -> String {
        (self.write)(random, index)
    }
}

/// Finishes a program of three words.
fn finish(mut program: Program<'_>, index: usize) -> String {
    let result = program.fold();
    program.finish(&head(index), &result)
}

fn head(index: usize) -> String {
    format!("fn p{index}(a: u64, b: u64, c: u64) -> u64")
}

/// Adds `steps` variables of these types, each computed from those before.
fn straight(program: &mut Program<'_>, types: &[Type], steps: usize, cast_percent: usize) {
    for _ in 0..steps {
        let ty = program.random.of(types);
        if !program.has(ty) || program.random.chance(cast_percent) {
            let from = program.some_type();
            let value = if from == ty { program.operation(ty) } else { format!("{} as {ty}", program.variable(from)) };
            program.define(ty, &value);
        } else {
            let value = if program.random.chance(15) { program.choice(ty) } else { program.operation(ty) };
            program.define(ty, &value);
        }
    }
}

/// `count` of these types, some perhaps twice.
fn some(random: &mut Random, types: &[Type], count: usize) -> Vec<Type> {
    (0..count).map(|_| random.of(types)).collect()
}

fn narrow(random: &mut Random, index: usize) -> String {
    let types = some(random, &NARROW, 2);
    let mut program = Program::of_words(random, &types);
    straight(&mut program, &types, 7, 10);
    finish(program, index)
}

fn words(random: &mut Random, index: usize) -> String {
    let types = some(random, &WORDS, 2);
    let mut program = Program::of_words(random, &types);
    straight(&mut program, &types, 7, 10);
    finish(program, index)
}

fn wide(random: &mut Random, index: usize) -> String {
    let types = [&WIDE[..], &WIDE, &[Type::Unsigned(64)]].concat();
    let mut program = Program::of_words(random, &types);
    straight(&mut program, &types, 5, 15);
    finish(program, index)
}

fn single(random: &mut Random, index: usize) -> String {
    let types = [Type::Float(32)];
    let mut program = Program::of_words(random, &types);
    straight(&mut program, &types, 8, 0);
    finish(program, index)
}

fn double(random: &mut Random, index: usize) -> String {
    let types = [Type::Float(64), Type::Float(64), Type::Float(64), Type::Float(32)];
    let mut program = Program::of_words(random, &types);
    straight(&mut program, &types, 8, 5);
    finish(program, index)
}

fn casts(random: &mut Random, index: usize) -> String {
    let integers = some(random, &[&NARROW[..], &WORDS].concat(), 2);
    let types = [&integers[..], &[Type::Float(32), Type::Float(64)]].concat();
    let mut program = Program::of_words(random, &types);
    straight(&mut program, &types, 8, 60);
    finish(program, index)
}

/// Variables that the blocks of a program change.
fn state(program: &mut Program<'_>, variables: usize) -> Vec<(String, Type)> {
    let new = |_| {
        let ty = program.some_type();
        let value = program.operation(ty);
        (program.define_mutable(ty, &value), ty)
    };
    (0..variables).map(new).collect()
}

/// An assignment to some variable of the state.
fn assign(program: &mut Program<'_>, state: &[(String, Type)]) -> String {
    let (name, ty) = program.random.of(state);
    let value = program.operation(ty);
    format!("{name} = {value}")
}

/// A few lines of a block: assignments, and blocks within.
fn block(program: &mut Program<'_>, state: &[(String, Type)], deeper: usize) {
    for _ in 0..1 + program.random.below(2) {
        match program.random.below(10) {
            6 | 7 if deeper > 0 => {
                let condition = program.condition();
                program.open(&format!("if {condition} {{"));
                block(program, state, deeper - 1);
                if program.random.chance(50) {
                    program.otherwise();
                    block(program, state, deeper - 1);
                }
                program.close();
            }
            8.. if deeper > 0 => cases(program, state),
            _ => {
                let text = assign(program, state);
                program.line(&format!("{text};"));
            }
        }
    }
}

/// A `match` over a dense range.
fn cases(program: &mut Program<'_>, state: &[(String, Type)]) {
    let (on, _) = program.integer();
    let last = 3 + program.random.below(5);
    let mask = (last + 1).next_power_of_two() - 1;
    program.open(&format!("match {on} & {mask} {{"));
    for case in 0..last {
        let text = assign(program, state);
        program.line(&format!("{case} => {text},"));
    }
    let text = assign(program, state);
    program.line(&format!("_ => {text},"));
    program.close();
}

/// A loop that ends: over a range, or while a condition holds and fuel is left.
fn looping(program: &mut Program<'_>, state: &[(String, Type)]) {
    let (bound, _) = program.integer();
    if program.random.chance(50) {
        program.open(&format!("for i in 0..({bound} as u32 & 15) {{"));
        let (name, ty) = program.random.of(state);
        let turn =
            if ty.is_float() { format!("{name} + i as {ty}") } else { format!("{name}.wrapping_add(i as {ty})") };
        program.line(&format!("{name} = {turn};"));
        block(program, state, 2);
        if program.random.chance(40) {
            let condition = program.condition();
            let leave = program.random.of(&["break", "continue"]);
            program.open(&format!("if {condition} {{"));
            program.line(&format!("{leave};"));
            program.close();
            let text = assign(program, state);
            program.line(&format!("{text};"));
        }
    } else {
        program.line(&format!("let mut fuel = {bound} as u32 & 15;"));
        let condition = program.condition();
        program.open(&format!("while fuel > 0 && {condition} {{"));
        program.line("fuel -= 1;");
        block(program, state, 2);
    }
    program.close();
}

fn control(random: &mut Random, index: usize) -> String {
    let types = [&WORDS[..], &WORDS, &NARROW, &[Type::Float(32)]].concat();
    let types = some(random, &types, 2);
    let mut program = Program::of_words(random, &types);
    let state = state(&mut program, 2);
    looping(&mut program, &state);
    if program.random.chance(30) {
        let condition = program.condition();
        let (name, ty) = program.random.of(&state);
        program.open(&format!("if {condition} {{"));
        program.line(&format!("return {};", ty.to_word(&name)));
        program.close();
    }
    cases(&mut program, &state);
    finish(program, index)
}

fn arrays(random: &mut Random, index: usize) -> String {
    let types = [&NARROW[..], &WORDS, &WORDS].concat();
    let types = some(random, &types, 2);
    let mut program = Program::of_words(random, &types);
    let ty = program.some_type();
    let len = program.random.of(&[4, 8]);
    let table_type = program.random.of(&types);
    let constants: Vec<String> = (0..8).map(|_| program.random.below(128).to_string()).collect();
    program.line(&format!("const TABLE: [{table_type}; 8] = [{}];", constants.join(", ")));
    let value = program.variable(ty);
    program.line(&format!("let mut array = [{value}; {len}];"));
    for _ in 0..3 {
        let value = program.operation(ty);
        let (at, _) = program.integer();
        program.line(&format!("array[{at} as usize % {len}] = {value};"));
    }
    let (bound, _) = program.integer();
    let (step, _) = program.integer();
    program.open(&format!("for i in 0..({bound} as usize & 15) {{"));
    program.line(&format!("let v = array[(i ^ {step} as usize) % {len}];"));
    let update = program.random.of(&["wrapping_add", "wrapping_mul", "rotate_left", "min", "max"]);
    let other = match update {
        "rotate_left" => "i as u32".to_owned(),
        _ => format!("TABLE[(v as usize ^ i) & 7] as {ty}"),
    };
    program.line(&format!("array[i % {len}] = v.{update}({other}) ^ {step} as {ty};"));
    program.close();
    let (at, _) = program.integer();
    program.define(ty, &format!("array[{at} as usize % {len}]"));
    let (at, _) = program.integer();
    program.define(table_type, &format!("TABLE[{at} as usize & 7]"));
    straight(&mut program, &[ty, table_type], 2, 10);
    let sum = program.define_mutable(Type::Unsigned(64), "0");
    program.open("for v in array {");
    program.line(&format!("{sum} = fold({sum}, v as u64);"));
    program.close();
    finish(program, index)
}

/// A function that is not put in line, and the types of its parameters and result.
fn helper(random: &mut Random, name: &str, parameters: &[Type], result: Type) -> String {
    let mut program = Program::of_parameters(random, parameters);
    straight(&mut program, parameters, 3, 20);
    let word = program.fold();
    program.line(&format!("let end = {word};"));
    let value = result.of_word("end", program.random);
    let parameters: Vec<String> = parameters.iter().enumerate().map(|(i, ty)| format!("v{i}: {ty}")).collect();
    let head = format!("#[inline(never)]\nfn {name}({}) -> {result}", parameters.join(", "));
    program.finish(&head, &value)
}

/// The number of functions in a table.
const ENTRIES: usize = 3;

fn calls(random: &mut Random, index: usize) -> String {
    let types = [&NARROW[..], &WORDS, &WIDE, &[Type::Float(32), Type::Float(64)]].concat();
    let scalars = [&NARROW[..], &WORDS].concat();
    let mut text = String::new();
    let parameters: Vec<Type> = (0..3).map(|_| random.of(&types)).collect();
    let result = random.of(&types);
    text.push_str(&helper(random, &format!("direct{index}"), &parameters, result));
    text.push('\n');
    let (from, to) = (random.of(&scalars), random.of(&scalars));
    for entry in 0..ENTRIES {
        text.push_str(&helper(random, &format!("entry{index}_{entry}"), &[from, from], to));
        text.push('\n');
    }
    let mut program = Program::of_words(random, &parameters);
    for &ty in parameters.iter().chain([&from]) {
        if !program.has(ty) {
            let word = program.random.of(&["a", "b", "c"]);
            let value = ty.of_word(word, program.random);
            program.define(ty, &value);
        }
    }
    for _ in 0..2 {
        let arguments: Vec<String> = parameters.iter().map(|&ty| program.variable(ty)).collect();
        program.define(result, &format!("direct{index}({})", arguments.join(", ")));
    }
    let entries: Vec<String> = (0..ENTRIES).map(|entry| format!("entry{index}_{entry}")).collect();
    program.line(&format!("const TABLE: [fn({from}, {from}) -> {to}; {ENTRIES}] = [{}];", entries.join(", ")));
    let arguments = [(); 2].map(|()| program.variable(from));
    program.define(to, &format!("TABLE[(b >> 7) as usize % {ENTRIES}]({})", arguments.join(", ")));
    text + &finish(program, index)
}
