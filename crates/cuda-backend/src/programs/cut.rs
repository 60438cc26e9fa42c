//! Cutting a program into parts that each compute some of its outputs.

use std::collections::HashSet;

use core_types::params::air::{Instruction, MaskAt, Opcode};

use super::{columns::OFFSET_COST, steps::cost};

/// The registers of an operand or a result, from the first on.
///
/// There is one register, or four for the secure field.
#[derive(Clone, Copy)]
struct RegisterRange {
    first: u16,
    count: u16,
}

const fn base(first: u16) -> Option<RegisterRange> {
    Some(RegisterRange { first, count: 1 })
}

const fn secure(first: u16) -> Option<RegisterRange> {
    Some(RegisterRange { first, count: 4 })
}

/// The registers that a step writes and reads.
fn registers(step: Instruction) -> (Option<RegisterRange>, [Option<RegisterRange>; 2]) {
    let Instruction { opcode, target, left, right } = step;
    let Some(opcode) = Opcode::ALL.get(usize::from(opcode)) else { return (None, [None; 2]) };
    match opcode {
        Opcode::Mask | Opcode::Constant => (base(target), [None; 2]),
        Opcode::Challenge => (secure(target), [None; 2]),
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Xor => (base(target), [base(left), base(right)]),
        Opcode::Neg | Opcode::Copy | Opcode::Bits => (base(target), [base(left), None]),
        Opcode::AddExt | Opcode::SubExt | Opcode::MulExt => (secure(target), [secure(left), secure(right)]),
        Opcode::NegExt => (secure(target), [secure(left), None]),
        Opcode::AddExtBase | Opcode::SubExtBase | Opcode::MulExtBase => (secure(target), [secure(left), base(right)]),
        Opcode::Lift => (secure(target), [base(left), None]),
        Opcode::Out => (None, [base(left), None]),
        Opcode::OutExt => (None, [secure(left), None]),
    }
}

/// The registers whose values are still wanted.
struct Wanted(Vec<bool>);

impl Wanted {
    fn new() -> Self {
        Self(vec![false; usize::from(u16::MAX) + 1])
    }

    fn each(&mut self, registers: RegisterRange) -> &mut [bool] {
        let first = usize::from(registers.first);
        let end = (first + usize::from(registers.count)).min(self.0.len());
        &mut self.0[first..end]
    }

    fn add(&mut self, registers: RegisterRange) {
        self.each(registers).fill(true);
    }

    /// Whether any of them was wanted; none is any more.
    fn take(&mut self, registers: RegisterRange) -> bool {
        let wanted = self.each(registers);
        let any = wanted.contains(&true);
        wanted.fill(false);
        any
    }
}

/// The steps among `steps[from..to]` that make the outputs, by their places in order.
///
/// Also returns about how many instructions they take.
fn slice(steps: &[Instruction], masks: &[MaskAt], from: usize, to: usize) -> (Vec<usize>, usize) {
    let (mut wanted, mut places, mut taken) = (Wanted::new(), Vec::new(), 0);
    let mut offsets = HashSet::from([0]);
    for (place, &step) in steps[..to].iter().enumerate().rev() {
        let (target, operands) = registers(step);
        let is_wanted = match target {
            Some(target) => wanted.take(target),
            None => place >= from,
        };
        if is_wanted {
            operands.into_iter().flatten().for_each(|operand| wanted.add(operand));
            places.push(place);
            taken += cost(step.opcode);
            if step.opcode == Opcode::Mask as u16 {
                let offset = masks.get(usize::from(step.left)).map_or(0, |mask| mask.offset);
                taken += if offsets.insert(offset) { OFFSET_COST } else { 0 };
            }
        }
    }
    places.reverse();
    (places, taken)
}

/// Cuts a program into consecutive parts that each make some of its outputs.
///
/// A part takes about `most` instructions or less. A step that several parts need is in each of
/// them. Returns `None` if a single output takes more, or all parts together more than `together`.
pub(super) fn cut(
    steps: &[Instruction],
    masks: &[MaskAt],
    most: usize,
    together: usize,
) -> Option<Vec<Vec<Instruction>>> {
    let is_output = |step: &Instruction| [Opcode::Out, Opcode::OutExt].map(|out| out as u16).contains(&step.opcode);
    let outputs: Vec<usize> = (0..steps.len()).filter(|&place| is_output(&steps[place])).collect();
    let (mut parts, mut rest, mut left) = (Vec::new(), &outputs[..], together);
    while let Some(&from) = rest.first() {
        let fits = |count: usize| slice(steps, masks, from, rest[count - 1] + 1).1 <= most;
        // More outputs take more steps.
        let (mut fit, mut over) = (0, rest.len() + 1);
        while over - fit > 1 {
            let middle = fit + (over - fit) / 2;
            if fits(middle) {
                fit = middle;
            } else {
                over = middle;
            }
        }
        if fit == 0 {
            return None;
        }
        let (places, taken) = slice(steps, masks, from, rest[fit - 1] + 1);
        left = left.checked_sub(taken)?;
        parts.push(places.into_iter().map(|place| steps[place]).collect());
        rest = &rest[fit..];
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(opcode: Opcode, target: u16, left: u16, right: u16) -> Instruction {
        Instruction { opcode: opcode as u16, target, left, right }
    }

    /// A program with masks 0 and 1 and outputs before and after register 0 is set anew.
    ///
    /// The second mask becomes a coordinate of a value of the secure field.
    fn program() -> Vec<Instruction> {
        vec![
            step(Opcode::Mask, 0, 0, 0),
            step(Opcode::Mask, 1, 1, 0),
            step(Opcode::Out, 0, 0, 0),
            step(Opcode::Challenge, 4, 0, 0),
            step(Opcode::Copy, 6, 1, 0),
            step(Opcode::Neg, 0, 1, 0),
            step(Opcode::OutExt, 1, 4, 0),
            step(Opcode::Out, 2, 0, 0),
        ]
    }

    #[test]
    fn parts_hold_the_steps_of_their_outputs_in_order() {
        let steps = program();
        let of = |places: &[usize]| -> Vec<Instruction> { places.iter().map(|&place| steps[place]).collect() };
        let all = Some(vec![steps.clone()]);
        assert_eq!(cut(&steps, &[], usize::MAX, usize::MAX), all);
        let [one, two] = [7, 8].map(|end| slice(&steps, &[], 6, end));
        assert_eq!((&one.0[..], &two.0[..]), (&[1, 3, 4, 6][..], &[1, 3, 4, 5, 6, 7][..]));
        let apart = [of(&[0, 2]), of(&one.0), of(&[1, 5, 7])];
        assert_eq!(cut(&steps, &[], one.1, usize::MAX), Some(apart.to_vec()));
        assert_eq!(cut(&steps, &[], one.1 - 1, usize::MAX), None);
        let first = slice(&steps, &[], 2, 3).1;
        assert_eq!(cut(&steps, &[], two.1, first + two.1), Some(vec![of(&[0, 2]), of(&two.0)]));
        assert_eq!(cut(&steps, &[], two.1, first + two.1 - 1), None);
        assert_eq!(cut(&steps[..2], &[], 1, 0), Some(vec![]));
    }

    #[test]
    fn registers_of_each_step_are_those_that_it_is_described_by() {
        let of = |opcode: Opcode| {
            let (target, operands) = registers(step(opcode, 1, 2, 3));
            let shown =
                |registers: Option<RegisterRange>| registers.map(|RegisterRange { first, count }| (first, count));
            (shown(target), operands.map(shown))
        };
        assert_eq!(of(Opcode::MulExtBase), (Some((1, 4)), [Some((2, 4)), Some((3, 1))]));
        assert_eq!(of(Opcode::Lift), (Some((1, 4)), [Some((2, 1)), None]));
        assert_eq!(of(Opcode::Bits), (Some((1, 1)), [Some((2, 1)), None]));
        assert_eq!(of(Opcode::OutExt), (None, [Some((2, 4)), None]));
        assert!(registers(Instruction { opcode: 99, target: 0, left: 0, right: 0 }).0.is_none());
    }

    /// The outputs of steps whose results are digests.
    ///
    /// A digest covers the step and the values that it reads, so no other computation gives the
    /// same.
    fn outputs(steps: &[Instruction]) -> Vec<(u16, Vec<u64>)> {
        let mut values = vec![0u64; 32];
        let mut outputs = Vec::new();
        for &step in steps {
            let (target, operands) = registers(step);
            let read = operands.into_iter().flatten().flat_map(|of| of.first..of.first + of.count);
            let read: Vec<u64> = read.map(|register| values[usize::from(register)]).collect();
            let Some(target) = target else {
                outputs.push((step.target, read));
                continue;
            };
            let constant = if read.is_empty() { u64::from(step.left) } else { 0 };
            let begin = u64::from(step.opcode) << 32 | constant;
            let all = read
                .iter()
                .fold(begin, |all, &value| (all ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
            for k in 0..target.count {
                values[usize::from(target.first + k)] = all.wrapping_add(u64::from(k));
            }
        }
        outputs
    }

    #[test]
    fn parts_of_any_programs_make_the_outputs_of_the_whole_in_order() {
        let mut rng = fastrand::Rng::with_seed(1);
        let (mut cuts, mut uncut) = (0, 0);
        for _ in 0..2000 {
            let len = rng.usize(1..=60);
            let steps: Vec<Instruction> = (0..len)
                .map(|_| step(rng.choice(Opcode::ALL).unwrap(), rng.u16(..24), rng.u16(..24), rng.u16(..24)))
                .collect();
            let masks: Vec<MaskAt> =
                (0..24).map(|mask| MaskAt { first: 0, offset: mask % 5 - 2, reserved: 0 }).collect();
            let most = rng.usize(20..320);
            let Some(parts) = cut(&steps, &masks, most, usize::MAX) else {
                uncut += 1;
                continue;
            };
            cuts += parts.len().saturating_sub(1);
            let made: Vec<_> = parts.iter().flat_map(|part| outputs(part)).collect();
            assert_eq!(made, outputs(&steps), "{steps:?}, {most}");
            for part in &parts {
                let places = slice(part, &masks, 0, part.len());
                assert!(places.0.len() == part.len() && places.1 <= most, "{part:?}");
            }
        }
        assert!(cuts > 300 && uncut > 300, "{cuts}, {uncut}");
    }
}
