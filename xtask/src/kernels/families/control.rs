//! Loops and conditionals: each thread runs a program of statements on its own words.

use anyhow::Result;

use super::{
    super::{
        random::Random,
        sample::{ExpectedResults, SampleKernel},
        tape::{INTEGER, IntOp, Operation as _, StepOperands, apply, word},
    },
    SampleParts, THREADS, columns, function, place,
};

/// Levels of statements inside others.
const DEPTH: usize = 2;

/// A change of a variable.
#[derive(Clone, Copy)]
struct Assignment {
    target: usize,
    op: IntOp,
    operands: StepOperands,
}

/// How two words are compared.
#[derive(Clone, Copy)]
enum Relation {
    Below,
    AtMost,
    Equal,
    Different,
}

/// A comparison of two variables, as signed numbers or not.
#[derive(Clone, Copy)]
struct Condition {
    relation: Relation,
    left: usize,
    right: usize,
    signed: bool,
}

enum ControlStatement {
    Assign(Assignment),
    /// Adds the counter of the innermost loop to a variable.
    AddCounter(usize),
    If {
        condition: Condition,
        then: Vec<ControlStatement>,
        otherwise: Vec<ControlStatement>,
    },
    /// A loop over 0 up to the bits of a variable that the mask keeps; it ends early if `leave`.
    Count {
        bound: usize,
        mask: u32,
        body: Vec<ControlStatement>,
        leave: Option<Condition>,
    },
    /// A loop while a condition holds, at most `fuel` times.
    While {
        condition: Condition,
        fuel: u32,
        body: Vec<ControlStatement>,
    },
    /// A `match` over the lowest bits of a variable, with an arm for each value.
    Cases {
        on: usize,
        arms: Vec<Assignment>,
    },
}

/// A random program and its results.
pub(super) fn generate(random: &mut Random) -> Result<SampleParts> {
    let variables = 2 + random.below(3);
    let mut statements = vec![looping(random, variables, DEPTH)];
    statements.push(conditional(random, variables, DEPTH - 1));
    statements.push(cases(random, variables));
    statements.extend((0..1 + random.below(2)).map(|_| statement(random, variables, DEPTH, false)));
    let rows: Vec<Vec<u32>> = (0..THREADS).map(|_| (0..variables).map(|_| word(random)).collect()).collect();
    let results: Vec<Vec<u32>> = rows.iter().map(|row| evaluate(&statements, row)).collect();

    let read = |variable| format!("let mut x{variable} = from({});", place(variable as u32));
    let mut lines: Vec<String> = (0..variables).map(read).collect();
    statements.iter().for_each(|statement| statement.write(0, &mut lines));
    lines.extend((0..variables).map(|variable| format!("to({}, x{variable});", place(variable as u32))));
    let expected = ExpectedResults::Words { words: columns(&results) };
    let kernel = SampleKernel::alone("thread", THREADS, columns(&rows), expected);
    Ok((function("thread", "Changes the words of thread `i`.", &lines), vec![kernel]))
}

fn assignment(random: &mut Random, variables: usize) -> Assignment {
    let mut operands = StepOperands::default();
    operands.iter_mut().for_each(|operand| *operand = random.below(variables));
    let target = random.below(variables);
    // The old value takes part, so that a loop is more than its last turn.
    operands[0] = target;
    Assignment { target, op: random.of(&INTEGER), operands }
}

fn condition(random: &mut Random, variables: usize) -> Condition {
    let left = random.below(variables);
    let relation =
        random.of(&[Relation::Below, Relation::Below, Relation::AtMost, Relation::Equal, Relation::Different]);
    Condition { relation, left, right: (left + 1 + random.below(variables - 1)) % variables, signed: random.chance(50) }
}

/// One to three statements.
fn block(random: &mut Random, variables: usize, depth: usize, counting: bool) -> Vec<ControlStatement> {
    (0..1 + random.below(3)).map(|_| statement(random, variables, depth, counting)).collect()
}

/// A statement; `counting` if it is in a loop with a counter.
fn statement(random: &mut Random, variables: usize, depth: usize, counting: bool) -> ControlStatement {
    match random.below(8) {
        0 if counting => ControlStatement::AddCounter(random.below(variables)),
        1 | 2 if depth > 0 => conditional(random, variables, depth - 1),
        3 if depth > 0 => looping(random, variables, depth - 1),
        4 => cases(random, variables),
        _ => ControlStatement::Assign(assignment(random, variables)),
    }
}

fn conditional(random: &mut Random, variables: usize, depth: usize) -> ControlStatement {
    let condition = condition(random, variables);
    let then = block(random, variables, depth, false);
    let otherwise = if random.chance(60) { block(random, variables, depth, false) } else { Vec::new() };
    ControlStatement::If { condition, then, otherwise }
}

fn looping(random: &mut Random, variables: usize, depth: usize) -> ControlStatement {
    if random.chance(60) {
        let (bound, mask) = (random.below(variables), random.of(&[3, 7, 15]));
        let body = block(random, variables, depth.saturating_sub(1), true);
        let leave = random.chance(40).then(|| condition(random, variables));
        ControlStatement::Count { bound, mask, body, leave }
    } else {
        let (condition, fuel) = (condition(random, variables), 1 + random.below(12) as u32);
        ControlStatement::While { condition, fuel, body: block(random, variables, depth.saturating_sub(1), false) }
    }
}

fn cases(random: &mut Random, variables: usize) -> ControlStatement {
    let arms = random.of(&[4, 8]);
    ControlStatement::Cases {
        on: random.below(variables),
        arms: (0..arms).map(|_| assignment(random, variables)).collect(),
    }
}

impl Assignment {
    fn text(self) -> String {
        let names: Vec<String> = self.operands[..self.op.arity()].iter().map(|operand| format!("x{operand}")).collect();
        format!("x{} = {}", self.target, self.op.text(&names))
    }

    fn run(self, variables: &mut [u32]) {
        variables[self.target] = apply(self.op, &self.operands, variables);
    }
}

impl Condition {
    fn text(self) -> String {
        let relation = match self.relation {
            Relation::Below => "<",
            Relation::AtMost => "<=",
            Relation::Equal => "==",
            Relation::Different => "!=",
        };
        let Self { left, right, .. } = self;
        if self.signed {
            // In parentheses: `as i32 <` would begin the arguments of a type.
            format!("(x{left} as i32) {relation} (x{right} as i32)")
        } else {
            format!("x{left} {relation} x{right}")
        }
    }

    fn holds(self, variables: &[u32]) -> bool {
        // Signed words are in order once their highest bit is turned over.
        let order = |variable: usize| variables[variable] ^ if self.signed { 1 << 31 } else { 0 };
        let (left, right) = (order(self.left), order(self.right));
        match self.relation {
            Relation::Below => left < right,
            Relation::AtMost => left <= right,
            Relation::Equal => left == right,
            Relation::Different => left != right,
        }
    }
}

impl ControlStatement {
    /// Adds its lines, indented by `depth` levels.
    fn write(&self, depth: usize, lines: &mut Vec<String>) {
        let indent = "    ".repeat(depth);
        match self {
            Self::Assign(assignment) => lines.push(format!("{indent}{};", assignment.text())),
            Self::AddCounter(target) => lines.push(format!("{indent}x{target} = x{target}.wrapping_add(counter);")),
            Self::If { condition, then, otherwise } => {
                lines.push(format!("{indent}if {} {{", condition.text()));
                then.iter().for_each(|statement| statement.write(depth + 1, lines));
                if !otherwise.is_empty() {
                    lines.push(format!("{indent}}} else {{"));
                    otherwise.iter().for_each(|statement| statement.write(depth + 1, lines));
                }
                lines.push(format!("{indent}}}"));
            }
            Self::Count { bound, mask, body, leave } => {
                lines.push(format!("{indent}for counter in 0..(x{bound} & {mask}) {{"));
                body.iter().for_each(|statement| statement.write(depth + 1, lines));
                if let Some(leave) = leave {
                    lines.push(format!("{indent}    if {} {{", leave.text()));
                    lines.push(format!("{indent}        break;"));
                    lines.push(format!("{indent}    }}"));
                }
                lines.push(format!("{indent}}}"));
            }
            Self::While { condition, fuel, body } => {
                lines.push(format!("{indent}let mut fuel = {fuel}_u32;"));
                lines.push(format!("{indent}while fuel > 0 && {} {{", condition.text()));
                lines.push(format!("{indent}    fuel -= 1;"));
                body.iter().for_each(|statement| statement.write(depth + 1, lines));
                lines.push(format!("{indent}}}"));
            }
            Self::Cases { on, arms } => {
                let last = arms.len() - 1;
                lines.push(format!("{indent}match x{on} & {last} {{"));
                for (value, arm) in arms.iter().enumerate() {
                    let value = if value == last { "_".to_owned() } else { value.to_string() };
                    lines.push(format!("{indent}    {value} => {},", arm.text()));
                }
                lines.push(format!("{indent}}}"));
            }
        }
    }

    /// Runs it; `counter` belongs to the innermost loop with one.
    fn run(&self, variables: &mut [u32], counter: u32) {
        match self {
            Self::Assign(assignment) => assignment.run(variables),
            Self::AddCounter(target) => variables[*target] = IntOp::Add.evaluate(&[variables[*target], counter]),
            Self::If { condition, then, otherwise } => {
                let chosen = if condition.holds(variables) { then } else { otherwise };
                chosen.iter().for_each(|statement| statement.run(variables, counter));
            }
            Self::Count { bound, mask, body, leave } => {
                for counter in 0..variables[*bound] & mask {
                    body.iter().for_each(|statement| statement.run(variables, counter));
                    if leave.is_some_and(|leave| leave.holds(variables)) {
                        break;
                    }
                }
            }
            Self::While { condition, fuel, body } => {
                let mut turns = 0;
                while turns < *fuel && condition.holds(variables) {
                    turns += 1;
                    body.iter().for_each(|statement| statement.run(variables, counter));
                }
            }
            Self::Cases { on, arms } => arms[variables[*on] as usize % arms.len()].run(variables),
        }
    }
}

/// The variables after the program.
fn evaluate(statements: &[ControlStatement], inputs: &[u32]) -> Vec<u32> {
    let mut variables = inputs.to_vec();
    statements.iter().for_each(|statement| statement.run(&mut variables, 0));
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADD: Assignment = Assignment { target: 0, op: IntOp::Add, operands: [0, 1, 0, 0] };

    const LESS: Condition = Condition { relation: Relation::Below, left: 0, right: 1, signed: true };

    #[test]
    fn signed_conditions_order_negative_numbers_first() {
        for (left, right) in [(-1, 0), (i32::MIN, i32::MAX), (3, 4), (4, 3), (7, 7), (0, -1)] {
            let variables = [left as u32, right as u32];
            assert_eq!(LESS.holds(&variables), left < right);
            assert_eq!(Condition { signed: false, ..LESS }.holds(&variables), variables[0] < variables[1]);
        }
        assert_eq!(LESS.text(), "(x0 as i32) < (x1 as i32)");
    }

    #[test]
    fn loops_end_by_their_bound_their_fuel_or_their_condition() {
        let add = || vec![ControlStatement::Assign(ADD)];
        let equal = Condition { relation: Relation::Equal, ..LESS };
        let count = |leave| ControlStatement::Count { bound: 1, mask: 7, body: add(), leave };
        assert_eq!(evaluate(&[count(None)], &[0, 12]), [4 * 12, 12]);
        assert_eq!(evaluate(&[count(Some(equal))], &[0, 12]), [12, 12]);
        let fuel = |fuel| ControlStatement::While { condition: LESS, fuel, body: add() };
        assert_eq!(evaluate(&[fuel(3)], &[0x8000_0000, 1]), [0x8000_0003, 1]);
        assert_eq!(evaluate(&[fuel(3)], &[0, 1]), [1, 1]);
        let counters =
            ControlStatement::Count { bound: 1, mask: 15, body: vec![ControlStatement::AddCounter(0)], leave: None };
        assert_eq!(evaluate(&[counters], &[0, 5]), [10, 5]);
    }

    #[test]
    fn cases_and_branches_change_their_variable() {
        let arms = vec![ADD, Assignment { op: IntOp::Mul, ..ADD }, ADD, ADD];
        let cases = ControlStatement::Cases { on: 1, arms };
        assert_eq!(evaluate(std::slice::from_ref(&cases), &[3, 5]), [15, 5]);
        assert_eq!(evaluate(&[cases], &[3, 4]), [7, 4]);
        let branch =
            ControlStatement::If { condition: LESS, then: vec![ControlStatement::Assign(ADD)], otherwise: Vec::new() };
        assert_eq!(evaluate(std::slice::from_ref(&branch), &[3, 4]), [7, 4]);
        assert_eq!(evaluate(&[branch], &[4, 4]), [4, 4]);
    }
}
