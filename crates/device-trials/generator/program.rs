//! One program while it is written.

use super::{random::Random, types::Type};

/// The longest line that `rustfmt` leaves alone.
const MAX_LINE: usize = 120;

struct Variable {
    name: String,
    ty: Type,
    /// Whether it has been picked: the next pick is rather one that has not.
    picked: bool,
    /// Whether later lines change it; its last value then belongs to the result.
    mutable: bool,
}

/// A function under construction, of three words or of given parameters.
///
/// It consists of straight lines and blocks. Its variables are all visible to the end.
pub(super) struct Program<'r> {
    pub(super) random: &'r mut Random,
    lines: Vec<String>,
    variables: Vec<Variable>,
    /// Blocks that the next line stands in.
    depth: usize,
}

impl<'r> Program<'r> {
    /// Begins with a variable of some type of `types` for each of the words `a`, `b` and `c`.
    pub(super) fn of_words(random: &'r mut Random, types: &[Type]) -> Self {
        let mut program = Self::of_parameters(random, &[]);
        for word in ["a", "b", "c"] {
            let ty = program.random.of(types);
            let value = ty.of_word(word, program.random);
            program.define(ty, &value);
        }
        program
    }

    /// Begins with parameters `v0`, `v1` and so on of these types.
    pub(super) fn of_parameters(random: &'r mut Random, types: &[Type]) -> Self {
        let mut program = Self { random, lines: Vec::new(), variables: Vec::new(), depth: 0 };
        for &ty in types {
            program.add(ty, false);
        }
        program
    }

    /// Writes a line at the present depth.
    pub(super) fn line(&mut self, text: &str) {
        self.lines.push(format!("{}{text}", "    ".repeat(self.depth + 1)));
    }

    /// Writes a line that opens a block.
    pub(super) fn open(&mut self, text: &str) {
        self.line(text);
        self.depth += 1;
    }

    /// Closes the block.
    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// Closes the block of an `if` and opens the other one.
    pub(super) fn otherwise(&mut self) {
        self.depth -= 1;
        self.open("} else {");
    }

    fn name(&self) -> String {
        format!("v{}", self.variables.len())
    }

    fn add(&mut self, ty: Type, mutable: bool) -> String {
        let name = self.name();
        self.variables.push(Variable { name: name.clone(), ty, picked: false, mutable });
        name
    }

    /// A new variable with a value; its name.
    pub(super) fn define(&mut self, ty: Type, value: &str) -> String {
        let name = self.name();
        self.line(&format!("let {name} = {value};"));
        self.add(ty, false)
    }

    /// A new variable that later lines change.
    pub(super) fn define_mutable(&mut self, ty: Type, value: &str) -> String {
        let name = self.name();
        self.line(&format!("let mut {name} = {value};"));
        self.add(ty, true)
    }

    /// The types of the variables so far.
    fn types(&self) -> Vec<Type> {
        let mut types = Vec::new();
        for variable in &self.variables {
            if !types.contains(&variable.ty) {
                types.push(variable.ty);
            }
        }
        types
    }

    /// Whether some variable has the type.
    pub(super) fn has(&self, ty: Type) -> bool {
        self.variables.iter().any(|variable| variable.ty == ty)
    }

    /// A type that some variable has.
    pub(super) fn some_type(&mut self) -> Type {
        let types = self.types();
        self.random.of(&types)
    }

    /// A variable of the type; the first input if there is none.
    pub(super) fn variable(&mut self, ty: Type) -> String {
        self.variable_but(ty, &[]).unwrap_or_else(|| "a".to_owned())
    }

    /// A variable of the type that is none of `taken`, rather one that was not picked before.
    fn variable_but(&mut self, ty: Type, taken: &[String]) -> Option<String> {
        let fits = |variable: &Variable| variable.ty == ty && !taken.contains(&variable.name);
        let fresh = self.variables.iter().any(|variable| fits(variable) && !variable.picked);
        let fresh_only = fresh && self.random.chance(60);
        let fitting = self.variables.iter_mut().filter(|variable| fits(variable));
        let mut choices: Vec<_> = fitting.filter(|variable| !fresh_only || !variable.picked).collect();
        if choices.is_empty() {
            return None;
        }
        let index = self.random.below(choices.len());
        choices[index].picked = true;
        Some(choices[index].name.clone())
    }

    /// A variable of some integer type, and its type; the first input if there is none.
    pub(super) fn integer(&mut self) -> (String, Type) {
        let types: Vec<Type> = self.types().into_iter().filter(|ty| !ty.is_float()).collect();
        if types.is_empty() {
            return ("a".to_owned(), Type::Unsigned(64));
        }
        let ty = self.random.of(&types);
        (self.variable(ty), ty)
    }

    /// A `u32` of any size, often small.
    pub(super) fn count(&mut self) -> String {
        if self.random.chance(15) {
            return self.random.below(70).to_string();
        }
        let (variable, ty) = self.integer();
        let word = if ty == Type::Unsigned(32) { variable } else { format!("{variable} as u32") };
        if self.random.chance(50) { format!("{word} & {}", self.random.of(&[7, 15, 31, 63, 127])) } else { word }
    }

    /// An operation on variables with a result of the type.
    pub(super) fn operation(&mut self, ty: Type) -> String {
        let mut rest = ty.form(self.random);
        let mut text = String::new();
        let mut taken = Vec::new();
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            // A brace that stands for itself is followed by a space.
            let Some((place, after)) = after.split_once('}').filter(|(place, _)| place.len() == 1) else {
                text.push('{');
                rest = after;
                continue;
            };
            let value = match place {
                "t" => ty.to_string(),
                "m" => ty.float_module().to_owned(),
                "n" => self.count(),
                "y" if self.random.chance(25) => ty.constant(self.random),
                "y" => self.variable_but(ty, &taken).unwrap_or_else(|| ty.constant(self.random)),
                _ => self.variable_but(ty, &taken).unwrap_or_else(|| self.variable(ty)),
            };
            taken.push(value.clone());
            text.push_str(&value);
            rest = after;
        }
        text + rest
    }

    /// As [`Program::operation`], or a choice between two of them.
    pub(super) fn choice(&mut self, ty: Type) -> String {
        let condition = self.condition();
        let [yes, no] = [(); 2].map(|()| self.operation(ty));
        let text = format!("if {condition} {{ {yes} }} else {{ {no} }}");
        let nested = yes.starts_with("if") || no.starts_with("if");
        if nested || text.len() + 24 > MAX_LINE { yes } else { text }
    }

    /// A comparison of two variables, or of one with a constant.
    pub(super) fn condition(&mut self) -> String {
        let ty = self.some_type();
        let relation = self.random.of(&["<", "<=", ">", ">=", "==", "!="]);
        let left = self.variable(ty);
        let other = if self.random.chance(60) { self.variable_but(ty, std::slice::from_ref(&left)) } else { None };
        let right = other.unwrap_or_else(|| ty.middle(self.random));
        format!("{left} {relation} {right}")
    }

    /// Whether a line takes the value of the variable.
    fn is_read(&self, name: &str) -> bool {
        let definition = format!("let {name} =");
        let others = self.lines.iter().filter(|line| !line.trim_start().starts_with(&definition));
        others.flat_map(|line| line.split(|c: char| !c.is_alphanumeric())).any(|word| word == name)
    }

    /// Writes what takes every variable into one word, and gives that word.
    pub(super) fn fold(&mut self) -> String {
        let ends: Vec<String> = (self.variables.iter())
            .filter(|variable| variable.mutable || !self.is_read(&variable.name))
            .map(|variable| variable.ty.to_word(&variable.name))
            .collect();
        let Some((first, rest)) = ends.split_first() else {
            return self.variables.last().map_or_else(|| "a".to_owned(), |last| last.ty.to_word(&last.name));
        };
        let Some((last, middle)) = rest.split_last() else { return first.clone() };
        self.line(&format!("let end = {first};"));
        for value in middle {
            self.line(&format!("let end = fold(end, {value});"));
        }
        format!("fold(end, {last})")
    }

    /// The text of the function with this head and this result.
    pub(super) fn finish(mut self, head: &str, result: &str) -> String {
        self.line(result);
        let mut text = format!("{head} {{\n");
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        text + "}\n"
    }
}
