//! The interpreter loop.
//!
//! It runs one fragment of a warp until it ends, waits, meets another or has used its fuel.

use super::{access, asynchronous, atomic, collective};
use crate::exec::code::{Cmp, Code, MAX_DEPTH, NO_GUARD, PredOp, StepOp};
use crate::exec::fault::FaultKind;
use crate::exec::lanes::{
    LaneBits, PerLane, WARP, convert, each1, each2, float, half, integer, lanes_where, map1, map2, map3, test2,
};
use crate::exec::register::{HalfKind, R};
use crate::exec::run::check::happens_before::clocks::Strength;
use crate::exec::run::trouble::{StepResult, trouble};
use crate::exec::run::turn::WarpTurn;
use crate::exec::run::warp::{Fragment, FragmentState, Warp};
use crate::exec::window::resolve;

/// Why a fragment stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec::run) enum Stop {
    /// It ended, waits, met another fragment, or has looped for long.
    Switch,
    /// No fuel is left.
    Fuel,
}

/// Runs fragment `index` of `warp`. Dispatches once per call between the builds of the loop.
pub(in crate::exec::run) fn run(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp, index: usize) -> StepResult<Stop> {
    #[cfg(target_arch = "x86_64")]
    if turn.job.wide_vectors {
        // SAFETY: `wide_vectors` is set only where the processor has every feature named at `run_v3`.
        return unsafe { run_v3(turn, warp, index) };
    }
    steps(turn, warp, index)
}

/// Whether the processor runs the wide build of the loop.
pub(in crate::exec) fn has_wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The loop, built for processors with 256-bit vectors and fused multiply-add.
///
/// # Safety
/// The processor has the named features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run_v3(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp, index: usize) -> StepResult<Stop> {
    steps(turn, warp, index)
}

/// First step after `pc` of another fragment that can run: where to stop and merge.
fn meeting_point(warp: &Warp, pc: u32) -> u32 {
    let ahead = warp.fragments.iter().filter(|other| other.state == FragmentState::Ready && other.pc > pc);
    ahead.map(|other| other.pc).min().unwrap_or(u32::MAX)
}

#[inline(always)]
fn steps(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp, index: usize) -> StepResult<Stop> {
    let code: &Code = turn.job.code;
    let Fragment { mut pc, mut mask, mut loops, .. } = warp.fragments.swap_remove(index);
    let mut limit = meeting_point(warp, pc);
    loop {
        // Parts of a fragment have looped for as long as the whole.
        let ready = |pc, mask| Fragment { pc, mask, state: FragmentState::Ready, loops };
        if pc >= limit || turn.fuel == 0 {
            let stop = if turn.fuel == 0 { Stop::Fuel } else { Stop::Switch };
            warp.fragments.push(ready(pc, mask));
            return Ok(stop);
        }
        let step = &code.steps[pc as usize];
        if warp.undefined.is_some() {
            warp.follow(code, step, mask, pc)?;
        }
        let active = if step.guard == NO_GUARD {
            mask
        } else {
            let p = warp.regs.p[step.guard as usize];
            mask & if step.negated { !p } else { p }
        };
        turn.fuel -= 1;
        turn.lanes += u64::from(active.count_ones());
        if active == 0 {
            if let StepOp::Fork { fork, .. } = step.op {
                warp.skip(code, fork, 0, mask);
            }
            pc += 1;
            continue;
        }
        let target = match step.op {
            StepOp::Bra(target) => target,
            StepOp::Fork { target, fork } => {
                warp.skip(code, fork, active, mask);
                target
            }
            StepOp::Exit => {
                warp.live &= !active;
                turn.core.live_threads -= active.count_ones();
                turn.changed = true;
                mask &= !active;
                if mask == 0 {
                    return Ok(Stop::Switch);
                }
                pc += 1;
                continue;
            }
            StepOp::Call { target, back } => {
                let back = &mut warp.regs.w32[back as usize].0;
                LaneBits(active).for_each(|lane| back[lane] = pc + 1);
                target
            }
            StepOp::BraTable(reg, table) => {
                let table = &code.tables[table as usize];
                let lane = active.trailing_zeros() as usize;
                let choice = warp.regs.w32[reg as usize].0[lane];
                let together = lanes_where(active, |other| warp.regs.w32[reg as usize].0[other] == choice);
                warp.pc = pc;
                let Some(&target) = table.get(choice as usize) else {
                    return trouble(lane, FaultKind::IllegalTarget(choice.into()));
                };
                if together != active {
                    warp.part(together);
                    // The lanes that chose otherwise come back to this step.
                    warp.fragments.push(ready(pc, active & !together));
                    if mask != active {
                        warp.fragments.push(ready(pc + 1, mask & !active));
                    }
                    let loops = loops + u32::from(target <= pc);
                    warp.fragments.push(Fragment { loops, ..ready(target, together) });
                    return Ok(Stop::Switch);
                }
                target
            }
            StepOp::CallTable { handle, table } => {
                warp.pc = pc;
                let targets = called(warp, &code.calls[table as usize], handle, pc + 1, active)?;
                leave(warp, ready(pc, mask), active, targets);
                return Ok(Stop::Switch);
            }
            StepOp::Return(back) => {
                let targets = warp.regs.w32[back as usize].0;
                leave(warp, ready(pc, mask), active, targets);
                return Ok(Stop::Switch);
            }
            StepOp::Collective(index) => {
                warp.pc = pc;
                let collective = &code.collectives[index as usize];
                if active == warp.live && collective::at_once(turn, warp, collective, active)? {
                    pc += 1;
                    continue;
                }
                if mask != active {
                    warp.part(active);
                    warp.fragments.push(ready(pc + 1, mask & !active));
                }
                collective::park(turn, warp, collective, ready(pc, active))?;
                return Ok(Stop::Switch);
            }
            _ => {
                warp.pc = pc;
                simple(turn, warp, code, &step.op, active)?;
                pc += 1;
                continue;
            }
        };
        let backward = target <= pc;
        if active == mask {
            pc = target;
        } else {
            warp.part(active);
            let other = if backward {
                // Lanes that leave a loop go first: others may wait for what they do next.
                Fragment { loops: 0, ..ready(pc + 1, mask & !active) }
            } else {
                ready(target, active)
            };
            (pc, mask) = if backward { (target, active) } else { (pc + 1, mask & !active) };
            limit = meeting_point(warp, pc).min(other.pc);
            warp.fragments.push(other);
        }
        if backward {
            loops += 1;
            limit = meeting_point(warp, pc);
            let looping = Fragment { pc, mask, state: FragmentState::Ready, loops };
            if looping.is_tired(!warp.fragments.is_empty()) {
                warp.fragments.push(looping);
                return Ok(Stop::Switch);
            }
        }
    }
}

/// The functions that lanes call by the handles of a register.
///
/// Stores `back`, the step where each lane continues.
fn called(warp: &mut Warp, table: &[(u64, u32, R)], handle: R, back: u32, active: u32) -> StepResult<[u32; WARP]> {
    let handles = warp.regs.w64[handle as usize].0;
    let mut targets = [0; WARP];
    for lane in LaneBits(active) {
        let Some(&(_, target, register)) = table.iter().find(|(handle, ..)| *handle == handles[lane]) else {
            return trouble(lane, FaultKind::IllegalTarget(handles[lane]));
        };
        warp.regs.w32[register as usize].0[lane] = back;
        targets[lane] = target;
    }
    Ok(targets)
}

/// Sends each active lane to its target, and the others to the next step.
fn leave(warp: &mut Warp, fragment: Fragment, active: u32, targets: [u32; WARP]) {
    let Fragment { pc, mask, .. } = fragment;
    let mut left = active;
    while left != 0 {
        let target = targets[left.trailing_zeros() as usize];
        let together = lanes_where(left, |lane| targets[lane] == target);
        warp.part(together);
        warp.fragments.push(Fragment { pc: target, mask: together, ..fragment });
        left &= !together;
    }
    if mask != active {
        warp.fragments.push(Fragment { pc: pc + 1, mask: mask & !active, ..fragment });
    }
}

/// Everything that neither branches nor waits.
#[inline(always)]
fn simple(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp, code: &Code, step: &StepOp, active: u32) -> StepResult {
    let regs = &mut warp.regs;
    macro_rules! w32 {
        ($r:expr) => {
            regs.w32[$r as usize]
        };
    }
    macro_rules! w64 {
        ($r:expr) => {
            regs.w64[$r as usize]
        };
    }
    macro_rules! set32 {
        ($d:expr, $values:expr) => {{
            let values = $values;
            w32!($d).set(active, &values);
        }};
    }
    macro_rules! set64 {
        ($d:expr, $values:expr) => {{
            let values = $values;
            w64!($d).set(active, &values);
        }};
    }
    match *step {
        StepOp::Mov32(d, a) => set32!(d, w32!(a)),
        StepOp::Mov64(d, a) => set64!(d, w64!(a)),
        StepOp::Pack64(d, lo, hi) => {
            set64!(d, map2(&w32!(lo), &w32!(hi), |lo, hi| u64::from(hi) << 32 | u64::from(lo)));
        }
        StepOp::Unpack64(lo, hi, a) => {
            let words = map1(&w64!(a), |a| a as u32);
            set32!(hi, map1(&w64!(a), |a| (a >> 32) as u32));
            set32!(lo, words);
        }
        StepOp::Pack32(d, lo, hi) => {
            set32!(d, map2(&w32!(lo), &w32!(hi), |lo, hi| hi << 16 | lo & 0xffff));
        }
        StepOp::Zext64(d, a) => set64!(d, map1(&w32!(a), u64::from)),
        StepOp::Sext64(d, a) => set64!(d, map1(&w32!(a), |a| i64::from(a as i32) as u64)),
        StepOp::Trunc32(d, a) => set32!(d, map1(&w64!(a), |a| a as u32)),
        StepOp::Ext32 { signed, bits, d, a } => set32!(d, map1(&w32!(a), |a| integer::extend(a, bits, signed))),
        StepOp::Bin32(op, d, a, b) => set32!(d, integer::binary32(op, active, &w32!(a), &w32!(b))),
        StepOp::Bin64(op, d, a, b) => set64!(d, integer::binary64(op, active, &w64!(a), &w64!(b))),
        StepOp::Un32(op, d, a) => set32!(d, integer::unary32(op, &w32!(a))),
        StepOp::Un64(op, d, a) => set64!(d, integer::unary64(op, active, &w64!(a))),
        StepOp::Count64(op, d, a) => set32!(d, each1(active, &w64!(a), |a| integer::count64(op, a))),
        StepOp::Tri32(op, d, a, b, c) => set32!(d, integer::ternary32(op, &w32!(a), &w32!(b), &w32!(c))),
        StepOp::Mad64(d, a, b, c) => {
            set64!(d, map3(&w64!(a), &w64!(b), &w64!(c), |a, b, c| a.wrapping_mul(b).wrapping_add(c)));
        }
        StepOp::MulWide(false, d, a, b) => set64!(d, map2(&w32!(a), &w32!(b), |a, b| u64::from(a) * u64::from(b))),
        StepOp::MulWide(true, d, a, b) => {
            set64!(d, map2(&w32!(a), &w32!(b), |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64));
        }
        StepOp::Bfe64(signed, d, a, b, c) => {
            set64!(d, map3(&w64!(a), &w32!(b), &w32!(c), |a, b, c| integer::bfe(a, b, c, 64, signed)));
        }
        StepOp::Carry { .. } => carry(warp, *step, active),
        StepOp::Lop3 { lut, d, a, b, c } => set32!(d, integer::lop3(lut, &w32!(a), &w32!(b), &w32!(c))),
        StepOp::F32(op, d, a, b) => set32!(d, float::binary32(op, &w32!(a), &w32!(b))),
        StepOp::F64(op, d, a, b) => set64!(d, float::binary64(op, &w64!(a), &w64!(b))),
        StepOp::Fma32(d, a, b, c) => {
            let fused = |a, b, c| float::canon(f32::from_bits(a).mul_add(f32::from_bits(b), f32::from_bits(c)));
            set32!(d, map3(&w32!(a), &w32!(b), &w32!(c), fused));
        }
        StepOp::Fma64(d, a, b, c) => {
            let fused = |a, b, c| f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits();
            set64!(d, map3(&w64!(a), &w64!(b), &w64!(c), fused));
        }
        StepOp::FUn32(op, d, a) => set32!(d, float::unary32(op, &w32!(a))),
        StepOp::FUn64(op, d, a) => set64!(d, float::unary64(op, active, &w64!(a))),
        StepOp::Approx(op, d, a) => {
            let noise = turn.job.options.perturb_approximations;
            set32!(d, each1(active, &w32!(a), |a| float::approx(op, a, noise)));
        }
        StepOp::DivApprox(d, a, b) => {
            let noise = turn.job.options.perturb_approximations;
            set32!(d, each2(active, &w32!(a), &w32!(b), |a, b| float::div_approx(a, b, noise)));
        }
        StepOp::Half { op, kind, d, a, b, c } => {
            let [a, b, c] = [&w32!(a), &w32!(b), &w32!(c)];
            let mut values = PerLane([0; WARP]);
            for lane in LaneBits(active) {
                values.0[lane] = half::arithmetic(op, kind, a.0[lane], b.0[lane], c.0[lane]);
            }
            set32!(d, values);
        }
        StepOp::Cvt(op, d, a) => match convert::widths(op) {
            (false, false) => set32!(d, convert::from32_to32(op, active, &w32!(a))),
            (false, true) => set64!(d, map1(&w32!(a), |a| convert::from32_to64(op, a))),
            (true, false) => set32!(d, each1(active, &w64!(a), |a| convert::from64_to32(op, a))),
            (true, true) => set64!(d, each1(active, &w64!(a), |a| convert::from64_to64(op, a))),
        },
        StepOp::CvtPack { kind, toward_zero: false, relu: false, d, a, b } => {
            macro_rules! pairs {
                ($narrow:path) => {
                    map2(&w32!(a), &w32!(b), |a, b| {
                        let [high, low] = [f32::from_bits(a), f32::from_bits(b)].map($narrow);
                        u32::from(high) << 16 | u32::from(low)
                    })
                };
            }
            set32!(
                d,
                match kind {
                    HalfKind::F16 | HalfKind::F16x2 => pairs!(half::narrow_f16),
                    HalfKind::Bf16 | HalfKind::Bf16x2 => pairs!(half::narrow_bf16),
                }
            );
        }
        StepOp::CvtPack { kind, toward_zero, relu, d, a, b } => {
            set32!(d, each2(active, &w32!(a), &w32!(b), |a, b| pack_halves(kind, toward_zero, relu, a, b)));
        }
        StepOp::Setp32(op, d, a, b) => {
            let mask = compare_words(op, &w32!(a), &w32!(b), |a| a as i32);
            regs.set_predicate(d, active, mask);
        }
        StepOp::Setp64(op, d, a, b) => {
            let mask = compare_words(op, &w64!(a), &w64!(b), |a| a as i64);
            regs.set_predicate(d, active, mask);
        }
        StepOp::SetpF32(op, d, a, b) => {
            let mask = test2(&w32!(a), &w32!(b), |a, b| float::compare(op, f32::from_bits(a), f32::from_bits(b)));
            regs.set_predicate(d, active, mask);
        }
        StepOp::SetpF64(op, d, a, b) => {
            let mask = test2(&w64!(a), &w64!(b), |a, b| float::compare(op, f64::from_bits(a), f64::from_bits(b)));
            regs.set_predicate(d, active, mask);
        }
        StepOp::SetpHalf(kind, op, d, a, b) => {
            let mask = test2(&w32!(a), &w32!(b), |a, b| half::compare_half(kind, op, a, b));
            regs.set_predicate(d, active, mask);
        }
        StepOp::Testp32(class, d, a) => {
            let mask = test2(&w32!(a), &w32!(a), |a, _| {
                let value = f32::from_bits(a);
                float::class_of(class, value.into(), value.is_normal())
            });
            regs.set_predicate(d, active, mask);
        }
        StepOp::Testp64(class, d, a) => {
            let mask = test2(&w64!(a), &w64!(a), |a, _| {
                let value = f64::from_bits(a);
                float::class_of(class, value, value.is_normal())
            });
            regs.set_predicate(d, active, mask);
        }
        StepOp::Sel32(d, a, b, p) => {
            let mut values = w32!(b);
            values.set(regs.p[p as usize], &w32!(a));
            set32!(d, values);
        }
        StepOp::Sel64(d, a, b, p) => {
            let mut values = w64!(b);
            values.set(regs.p[p as usize], &w64!(a));
            set64!(d, values);
        }
        StepOp::Pred(op, d, a, b) => {
            let (a, b) = (regs.p[a as usize], regs.p[b as usize]);
            let value = match op {
                PredOp::And => a & b,
                PredOp::Or => a | b,
                PredOp::Xor => a ^ b,
                PredOp::Move => a,
                PredOp::Not => !a,
            };
            regs.set_predicate(d, active, value);
        }
        StepOp::IsSpace(space, d, a) => {
            let mask = test2(&w64!(a), &w64!(a), |a, _| resolve(a).0 == space);
            regs.set_predicate(d, active, mask);
        }
        StepOp::Clock(high, d) => {
            let now = turn.clock();
            set32!(d, PerLane([if high { (now >> 32) as u32 } else { now as u32 }; WARP]));
        }
        StepOp::Clock64(d) => set64!(d, PerLane([turn.clock(); WARP])),
        StepOp::ActiveMask(d) => {
            let groups = PerLane(warp.groups());
            warp.regs.w32[d as usize].set(active, &map1(&groups, |group| group & active));
        }
        StepOp::Load(index) => return access::load(turn, warp, &code.accesses[index as usize], active),
        StepOp::Store(index) => return access::store(turn, warp, &code.accesses[index as usize], active),
        StepOp::Atomic(index) => return atomic::atomic(turn, warp, &code.atomics[index as usize], active),
        StepOp::CopyAsync(_) | StepOp::CommitGroup | StepOp::WaitGroup(_) | StepOp::WaitAll => {
            return asynchronous::step(turn, warp, *step, active);
        }
        StepOp::Fence { wide, sequential } => turn.fence(warp, active, Strength { wide, sequential }),
        StepOp::MoveLocal(index) => {
            turn.changed = true;
            access::move_local(warp, &code.moves[index as usize], active);
        }
        StepOp::Trap => return trouble(active.trailing_zeros() as usize, FaultKind::Trap),
        StepOp::TooDeep => {
            return trouble(active.trailing_zeros() as usize, FaultKind::CallDepth(MAX_DEPTH));
        }
        StepOp::Bra(_)
        | StepOp::Fork { .. }
        | StepOp::BraTable(..)
        | StepOp::Call { .. }
        | StepOp::CallTable { .. } => {}
        StepOp::Return(_) | StepOp::Exit | StepOp::Collective(_) => {}
    }
    Ok(())
}

#[inline(always)]
fn compare_words<U: Ord + Copy, S: Ord>(op: Cmp, a: &PerLane<U>, b: &PerLane<U>, signed: impl Fn(U) -> S) -> u32 {
    match op {
        Cmp::Eq | Cmp::EqU => test2(a, b, |a, b| a == b),
        Cmp::Ne | Cmp::NeU => test2(a, b, |a, b| a != b),
        Cmp::Lt => test2(a, b, |a, b| signed(a) < signed(b)),
        Cmp::Le => test2(a, b, |a, b| signed(a) <= signed(b)),
        Cmp::Gt => test2(a, b, |a, b| signed(a) > signed(b)),
        Cmp::Ge => test2(a, b, |a, b| signed(a) >= signed(b)),
        Cmp::LtU => test2(a, b, |a, b| a < b),
        Cmp::LeU => test2(a, b, |a, b| a <= b),
        Cmp::GtU => test2(a, b, |a, b| a > b),
        Cmp::GeU => test2(a, b, |a, b| a >= b),
        Cmp::Num => u32::MAX,
        Cmp::Nan => 0,
    }
}

fn pack_halves(kind: HalfKind, toward_zero: bool, relu: bool, a: u32, b: u32) -> u32 {
    let one = |bits: u32| {
        let value = f32::from_bits(bits);
        let value = if relu && value <= 0.0 { 0.0 } else { value };
        let narrow = if toward_zero { half::narrow_toward_zero(kind, value) } else { half::narrow(kind, value) };
        u32::from(narrow)
    };
    one(a) << 16 | one(b)
}

fn carry(warp: &mut Warp, op: StepOp, active: u32) {
    let StepOp::Carry { wide, subtract, carry_in, cc, d, a, b } = op else { return };
    let regs = &mut warp.regs;
    let before = if carry_in { regs.p[cc as usize] } else { 0 };
    let mut after = 0;
    for lane in LaneBits(active) {
        let carry = before >> lane & 1 == 1;
        let out = if wide {
            let (a, b) = (regs.w64[a as usize].0[lane], regs.w64[b as usize].0[lane]);
            let (value, out) = integer::carry64(a, b, carry, subtract);
            regs.w64[d as usize].0[lane] = value;
            out
        } else {
            let (a, b) = (regs.w32[a as usize].0[lane], regs.w32[b as usize].0[lane]);
            let (value, out) = integer::carry32(a, b, carry, subtract);
            regs.w32[d as usize].0[lane] = value;
            out
        };
        after |= u32::from(out) << lane;
    }
    regs.set_predicate(cc, active, after);
}
