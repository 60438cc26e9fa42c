//! `ldmatrix` and `mma.sync`.
//!
//! Sums run over k in order, one rounding per step; hardware orders them as it likes.

use super::access::check;
use crate::exec::collective::Mma;
use crate::exec::fault::{Access, FaultKind, Space};
use crate::exec::lanes::{FULL, WARP, float::canon, half};
use crate::exec::register::{AddressOperand, HalfKind, R};
use crate::exec::run::seen::Seen;
use crate::exec::run::trouble::{StepResult, trouble};
use crate::exec::run::turn::WarpTurn;
use crate::exec::run::warp::Warp;
use crate::exec::window::resolve;

/// Bytes of one row of an 8 x 8 matrix of 16-bit elements.
const ROW: u64 = 16;

fn need_full_warp(warp: &Warp, lanes: u32) -> StepResult {
    if lanes == FULL {
        return Ok(());
    }
    let (lane, elsewhere) = (lanes.trailing_zeros() as usize, "a tensor instruction needs the whole warp".to_owned());
    trouble(lane, FaultKind::DivergentCollective { members: FULL, present: lanes, exited: !warp.live, elsewhere })
}

/// Loads `count` matrices; lane `8 i + r` holds the address of row `r` of matrix `i`.
pub(super) fn load(
    turn: &mut WarpTurn<'_, '_>,
    warp: &mut Warp,
    (transposed, count): (bool, u8),
    d: [R; 4],
    target: AddressOperand,
    lanes: u32,
) -> StepResult {
    need_full_warp(warp, lanes)?;
    let mut addresses = warp.regs.addresses(target);
    let giving = if count == 4 { FULL } else { (1 << (8 * count)) - 1 };
    // Some compilers hand over generic addresses.
    for address in &mut addresses {
        *address = resolve(*address).1;
    }
    let memory = check(turn, warp, Space::Shared, &addresses, giving, ROW)?;
    if turn.job.checked {
        let row = Seen::plain(Space::Shared, Access::Read, giving, &addresses, ROW, &memory);
        turn.observe_unordered(warp, &row)?;
        turn.order_words(
            warp,
            &row,
            (0..8 * u64::from(count)).flat_map(|row| {
                // Each lane reads the values it gets: a word of a row, or an element of each of two neighbouring rows.
                let place = addresses[row as usize];
                let lanes = move |word| match (transposed, row % 8) {
                    (true, row) => 0x11_u32 << (row / 2 + 8 * word),
                    (false, row) => 1_u32 << (4 * row + word),
                };
                (0..4).map(move |word| (place + 4 * word, lanes(word)))
            }),
        )?;
    }
    for (matrix, &d) in d.iter().enumerate().take(count.into()) {
        let element = |row: usize, column: usize| {
            let at = addresses[8 * matrix + row] as usize + 2 * column;
            u32::from(u16::from_le_bytes([turn.core.shared[at], turn.core.shared[at + 1]]))
        };
        for lane in 0..WARP {
            let (group, pair) = (lane / 4, 2 * (lane % 4));
            let (low, high) = if transposed {
                (element(pair, group), element(pair + 1, group))
            } else {
                (element(group, pair), element(group, pair + 1))
            };
            warp.regs.w32[d as usize].0[lane] = high << 16 | low;
        }
    }
    Ok(())
}

/// `d = a b + c` for one warp.
pub(super) fn multiply(
    warp: &mut Warp,
    shape: Mma,
    d: [R; 4],
    a: [R; 4],
    b: [R; 2],
    c: [R; 4],
    lanes: u32,
) -> StepResult {
    need_full_warp(warp, lanes)?;
    let word = |reg: R, lane: usize| warp.regs.w32[reg as usize].0[lane];
    let a = |r: usize, lane: usize| word(a[r], lane);
    let b = |r: usize, lane: usize| word(b[r], lane);
    let mut sums = [[0; 8]; 16];
    for lane in 0..WARP {
        for (r, &c) in c.iter().enumerate() {
            let (row, column) = accumulator(r, lane);
            sums[row][column] = word(c, lane);
        }
    }
    let f16 = |word: u32, item: usize| half::widen_f16((word >> (16 * item)) as u16);
    let bf16 = |word: u32, item: usize| half::widen_bf16((word >> (16 * item)) as u16);
    let is_f16 = |kind: HalfKind| matches!(kind, HalfKind::F16 | HalfKind::F16x2);
    // The low 13 bits of a register do not belong to its tf32 value.
    let tf32 = |word: u32, _: usize| f32::from_bits(word & !0x1fff);
    match shape {
        Mma::M16N8K16(kind) if is_f16(kind) => add_floats::<16>(&mut sums, &unpack(a, b, 2, f16)),
        Mma::M16N8K16(_) => add_floats::<16>(&mut sums, &unpack(a, b, 2, bf16)),
        Mma::M16N8K8(kind) if is_f16(kind) => add_floats::<8>(&mut sums, &unpack(a, b, 2, f16)),
        Mma::M16N8K8(_) => add_floats::<8>(&mut sums, &unpack(a, b, 2, bf16)),
        Mma::M16N8K8Tf32 => add_floats::<8>(&mut sums, &unpack(a, b, 1, tf32)),
        Mma::Bytes { saturate } => {
            let pick = |word: u32, item: usize| i64::from((word >> (8 * item)) as i8);
            add_bytes(&mut sums, &unpack(a, b, 4, pick), saturate);
        }
    }
    for lane in 0..WARP {
        for (r, &d) in d.iter().enumerate() {
            let (row, column) = accumulator(r, lane);
            warp.regs.w32[d as usize].0[lane] = sums[row][column];
        }
    }
    Ok(())
}

/// Row and column that register `r` of a lane holds of the 16 x 8 accumulator.
fn accumulator(r: usize, lane: usize) -> (usize, usize) {
    (lane / 4 + 8 * (r / 2), 2 * (lane % 4) + r % 2)
}

/// Operands unpacked from the registers of a warp: `a` by rows, `b` by rows of k.
struct MatrixOperands<T, const K: usize> {
    a: [[T; K]; 16],
    b: [[T; 8]; K],
}

fn unpack<T: Copy + Default, const K: usize>(
    a: impl Fn(usize, usize) -> u32,
    b: impl Fn(usize, usize) -> u32,
    per_word: usize,
    pick: impl Fn(u32, usize) -> T,
) -> MatrixOperands<T, K> {
    let mut operands = MatrixOperands { a: [[T::default(); K]; 16], b: [[T::default(); 8]; K] };
    let half_depth = 4 * per_word;
    for lane in 0..WARP {
        let (group, first) = (lane / 4, per_word * (lane % 4));
        for part in 0..K / half_depth {
            for item in 0..per_word {
                let k = first + item + half_depth * part;
                for upper in 0..2 {
                    operands.a[group + 8 * upper][k] = pick(a(2 * part + upper, lane), item);
                }
                operands.b[k][group] = pick(b(part, lane), item);
            }
        }
    }
    operands
}

/// Adds a product of floats to sums that are the bits of `f32`.
fn add_floats<const K: usize>(sums: &mut [[u32; 8]; 16], operands: &MatrixOperands<f32, K>) {
    for (sums, a) in sums.iter_mut().zip(&operands.a) {
        let mut row = sums.map(f32::from_bits);
        for (&a, b) in a.iter().zip(&operands.b) {
            // The product of two 11-bit significands is exact.
            row.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
        }
        *sums = row.map(canon);
    }
}

/// Adds a product of bytes to sums of 32 bits.
fn add_bytes(sums: &mut [[u32; 8]; 16], operands: &MatrixOperands<i64, 32>, saturate: bool) {
    for (sums, a) in sums.iter_mut().zip(&operands.a) {
        for (column, word) in sums.iter_mut().enumerate() {
            let dot: i64 = a.iter().zip(&operands.b).map(|(&a, b)| a * b[column]).sum();
            let sum = i64::from(*word as i32) + dot;
            *word = if saturate { sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32 } else { sum as u32 };
        }
    }
}
