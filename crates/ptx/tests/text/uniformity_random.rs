//! The uniformity analysis against lanes that run one by one: if it finds no divergence, all lanes reach the same
//! barriers in the same order.

use crate::text::samples::kernel;
use fastrand::Rng;
use ptx::{
    ast::{Body, Instruction, Operand, Special},
    uniform::{Spread, Uniformity, divergent_collectives},
};

const LANES: i64 = 32;
/// Instructions after which a lane counts as caught in a loop.
const MAX_STEPS: usize = 400;

/// The steps of one lane.
struct LaneTrace {
    /// The barriers it reached.
    barriers: Vec<usize>,
    /// The values each register was given, with the number of barriers reached before.
    values: Vec<Vec<(usize, i64)>>,
}

/// Runs one lane; `None` if it does not end.
fn run(body: &Body, tid: i64) -> Option<LaneTrace> {
    let mut registers = vec![0_i64; body.registers.len()];
    let mut trace = LaneTrace { barriers: Vec::new(), values: vec![Vec::new(); body.registers.len()] };
    let mut at = 0;
    for _ in 0..MAX_STEPS {
        let Some(instruction) = body.instructions.get(at) else { return Some(trace) };
        at += 1;
        let active = |guard: ptx::ast::Guard| (registers[guard.register.0 as usize] != 0) != guard.negated;
        if !instruction.guard.is_none_or(active) {
            continue;
        }
        let value = |index: usize| match &instruction.operands[index] {
            Operand::Reg(reg) => registers[reg.0 as usize],
            Operand::Int(value) => *value,
            Operand::Special(Special::Tid(_)) => tid,
            Operand::Special(_) => 3,
            operand => panic!("{operand:?}"),
        };
        let result = match instruction.opcode.text() {
            "mov.u32" => value(1),
            "add.s32" => value(1).wrapping_add(value(2)) & 63,
            "and.b32" => value(1) & value(2),
            "setp.lt.u32" => i64::from(value(1) < value(2)),
            "setp.eq.u32" => i64::from(value(1) == value(2)),
            "bar.sync" => {
                trace.barriers.push(at - 1);
                continue;
            }
            "bra" => {
                let Operand::Label(label) = instruction.operands[0] else { panic!("{instruction:?}") };
                at = body.target(label);
                continue;
            }
            "ret" => return Some(trace),
            opcode => panic!("{opcode}"),
        };
        for reg in instruction.destinations() {
            registers[reg.0 as usize] = result;
            trace.values[reg.0 as usize].push((trace.barriers.len(), result));
        }
    }
    None
}

/// A kernel of random blocks over few registers, so that most are defined several times.
fn random_code(rng: &mut Rng) -> String {
    let blocks = rng.u32(2..8);
    // Everything is defined, since undefined values are nobody's promise.
    let mut code = String::from("mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n");
    code.push_str("mov.u32 %r3, 0;\nmov.u32 %r4, 1;\nmov.u32 %r5, 2;\n");
    code.push_str("setp.lt.u32 %p1, %r1, 16;\nsetp.eq.u32 %p2, %r2, 0;\n");
    for block in 0..blocks {
        code.push_str(&format!("B{block}:\n"));
        for _ in 0..rng.u32(..4) {
            let (result, first, second) = (rng.u32(2..6), rng.u32(1..6), rng.u32(2..6));
            let number = rng.u32(..8);
            let guard = if rng.u32(..6) == 0 { format!("@%p{} ", rng.u32(1..3)) } else { String::new() };
            code.push_str(&match rng.u32(..10) {
                0 => "bar.sync 0;\n".to_owned(),
                1 => format!("{guard}mov.u32 %r{result}, %r{second};\n"),
                2 | 3 => format!("{guard}mov.u32 %r{result}, {number};\n"),
                4 => format!("{guard}and.b32 %r{result}, %r{first}, {number};\n"),
                5 | 6 => format!("{guard}add.s32 %r{result}, %r{second}, {number};\n"),
                7 => format!("setp.eq.u32 %p{}, %r{second}, {number};\n", rng.u32(1..3)),
                8 => format!("setp.lt.u32 %p{}, %r{second}, {};\n", rng.u32(1..3), 8 * number),
                _ => format!("setp.lt.u32 %p{}, %r{first}, {};\n", rng.u32(1..3), 4 * number),
            });
        }
        match rng.u32(..6) {
            0..4 => code.push_str(&format!("@%p{} bra B{};\n", rng.u32(1..3), rng.u32(..blocks))),
            4 => code.push_str(&format!("@%p{} ret;\n", rng.u32(1..3))),
            _ => {}
        }
    }
    code.push_str("bar.sync 0;");
    code
}

#[test]
fn what_passes_keeps_the_lanes_together() {
    let mut rng = Rng::with_seed(7);
    let (mut sound, mut divergent, mut caught) = (0, 0, 0);
    for _ in 0..6000 {
        let code = random_code(&mut rng);
        let module = kernel(&code);
        let (function, body) = module.entries().next().unwrap();
        let found = divergent_collectives(function, body);
        let Some(traces) = (0..LANES).map(|tid| run(body, tid)).collect::<Option<Vec<_>>>() else { continue };
        let apart = traces.iter().any(|trace| trace.barriers != traces[0].barriers);
        assert!(!apart || !found.is_empty(), "lanes part unseen:\n{code}");
        let varying = body.instructions.iter().any(|instruction: &Instruction| instruction.guard.is_some());
        sound += usize::from(found.is_empty() && varying);
        divergent += usize::from(!found.is_empty());
        caught += usize::from(apart);
    }
    // The samples hold plenty of each kind, and few are refused for nothing.
    assert!(sound > 1000 && caught > 500, "{sound} sound, {divergent} refused, {caught} of them apart");
    assert!(divergent < 3 * caught, "{divergent} refused, {caught} of them apart");
}

#[test]
fn uniform_registers_hold_the_same_in_all_lanes() {
    let mut rng = Rng::with_seed(11);
    let mut compared = 0;
    for _ in 0..6000 {
        let code = random_code(&mut rng);
        let module = kernel(&code);
        let (function, body) = module.entries().next().unwrap();
        if !divergent_collectives(function, body).is_empty() {
            continue;
        }
        let uniformity = Uniformity::new(function, body, &ptx::flow::Graph::new(body));
        let Some(traces) = (0..LANES).map(|tid| run(body, tid)).collect::<Option<Vec<_>>>() else { continue };
        for slot in
            (0..body.registers.len()).filter(|slot| uniformity.register(ptx::ast::Reg(*slot as u32)) == Spread::Uniform)
        {
            // Lanes may run a definition more or less often, but between two barriers all end with the same value.
            let last = |trace: &LaneTrace, barrier: usize| {
                trace.values[slot].iter().rev().find(|(before, _)| *before <= barrier).map(|(_, value)| *value)
            };
            for barrier in 0..traces[0].barriers.len() {
                let known: Vec<_> = traces.iter().filter_map(|trace| last(trace, barrier)).collect();
                assert!(known.windows(2).all(|pair| pair[0] == pair[1]), "register {slot} differs:\n{code}");
                compared += usize::from(known.len() > 1);
            }
        }
    }
    assert!(compared > 500, "{compared} registers compared");
}
