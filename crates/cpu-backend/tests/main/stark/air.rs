//! Programs and columns of look-ups are the same at every vector level and thread count.

use backend_api::{
    Queue,
    ops::air::{AirColumns, AirEvaluate, AirOps, CounterColumns, LogUpColumns, RowNumbers},
};
use core_types::{
    field::{M31, QM31},
    params::air::{
        AirColumnsParams, AirParams, CounterColumnsParams, Instruction, LogUpColumnsParams, MaskAt, Opcode,
        RowNumbersParams,
    },
};

use crate::levels::{expect_equal, queues, strongest};

fn words(len: usize, seed: u64) -> Vec<M31> {
    let mut rng = fastrand::Rng::with_seed(seed);
    core::iter::repeat_with(|| M31::from_u32(rng.u32(..))).take(len).collect()
}

#[test]
fn every_level_and_thread_count_evaluates_the_same() {
    let step = |opcode, target, left, right| Instruction { opcode: opcode as u16, target, left, right };
    let instructions = [
        step(Opcode::Mask, 0, 0, 0),
        step(Opcode::Mask, 1, 1, 0),
        step(Opcode::Challenge, 4, 0, 0),
        step(Opcode::Mul, 2, 0, 1),
        step(Opcode::MulExtBase, 8, 4, 2),
        step(Opcode::MulExt, 8, 8, 8),
        step(Opcode::SubExt, 4, 8, 4),
        step(Opcode::Out, 0, 2, 0),
        step(Opcode::OutExt, 1, 4, 0),
    ];
    let challenge = QM31::from_coordinates([3, 5, 7, 11].map(M31::from_u32));
    for (log_rows, log_size) in [(1, 1), (3, 4), (8, 9), (14, 15)] {
        let values = words(2 << log_size, 1);
        let masks = [0, 1].map(|k| MaskAt { first: k << log_size, offset: -(k as i32), reserved: 0 });
        expect_equal(&queues(), &format!("2^{log_rows} rows"), |q| {
            let mut sums = words(4 << log_size, 2);
            q.air_evaluate(AirEvaluate {
                params: &AirParams { log_rows, log_size, registers: 12, outputs: 2 },
                instructions: &instructions,
                masks: &masks,
                constants: &[],
                vanishing_inverses: &words(1 << (log_size - log_rows), 3),
                values: &values,
                challenges: &[challenge],
                powers: &[challenge, challenge * challenge],
                sums: &mut sums,
            })
            .expect("lengths match");
            sums
        });
    }
}

#[test]
fn columns_of_whole_tiles_are_read_in_place() {
    let step = |opcode, target, left, right| Instruction { opcode: opcode as u16, target, left, right };
    let instructions = [step(Opcode::Mask, 0, 0, 0), step(Opcode::Out, 0, 0, 0)];
    let scratch_bytes = |log_size: u32, instructions: &[Instruction]| {
        let (q, mut sums) = (strongest(1), words(4 << log_size, 2));
        q.air_evaluate(AirEvaluate {
            params: &AirParams { log_rows: log_size - 1, log_size, registers: 2, outputs: 1 },
            instructions,
            masks: &[MaskAt { first: 0, offset: 0, reserved: 0 }],
            constants: &[],
            vanishing_inverses: &words(2, 3),
            values: &words(1 << log_size, 1),
            challenges: &[],
            powers: &[QM31::ONE],
            sums: &mut sums,
        })
        .expect("lengths match");
        q.budget().peak_bytes()
    };
    // A tile of 512 positions copies a column of 256, with the index of each position, and a longer column not.
    let [copied, first, second] = [8, 9, 10].map(|log_size| scratch_bytes(log_size, &instructions));
    assert_eq!(copied, first + 2 * 512 * 4);
    assert_eq!(first, second);
    // The plane of zeros, a spare one, and four planes of sums of 64 bits.
    assert_eq!(first, (1 + 1 + 4 * 2) * 512 * 4);
    // A plane is free again once the register that stands for it is overwritten.
    let chain = [
        step(Opcode::Mask, 0, 0, 0),
        step(Opcode::Mul, 1, 0, 0),
        step(Opcode::Add, 1, 1, 0),
        step(Opcode::Mul, 1, 1, 0),
        step(Opcode::Out, 0, 1, 0),
    ];
    assert_eq!(scratch_bytes(9, &chain), first + 2 * 512 * 4);
}

#[test]
fn every_level_and_thread_count_makes_the_same_trace() {
    let step = |opcode, target, left, right| Instruction { opcode: opcode as u16, target, left, right };
    let instructions = [
        step(Opcode::Mask, 0, 0, 0),
        step(Opcode::Mask, 1, 1, 0),
        step(Opcode::Out, 0, 1, 0),
        step(Opcode::Mul, 2, 0, 1),
        step(Opcode::Add, 0, 2, 1),
        step(Opcode::Sub, 1, 2, 0),
        step(Opcode::Out, 2, 0, 0),
        step(Opcode::Out, 1, 1, 0),
        step(Opcode::Bits, 0, 0, Instruction::bits(5, 13)),
        step(Opcode::Xor, 1, 1, 2),
        step(Opcode::Out, 3, 1, 0),
        step(Opcode::Bits, 1, 1, Instruction::bits(20, 30)),
        step(Opcode::Xor, 0, 0, 1),
        step(Opcode::Out, 4, 0, 0),
        step(Opcode::Out, 5, 1, 0),
    ];
    for log_rows in [1, 4, 9, 15] {
        let inputs = words(1 << log_rows, 1);
        let masks = [0, 1].map(|k| MaskAt { first: k << log_rows, offset: -(k as i32), reserved: 0 });
        expect_equal(&queues(), &format!("2^{log_rows} rows"), |q| {
            let (mut all, mut columns, mut counters) = (inputs.clone(), words(4 << log_rows, 2), vec![7; 1000]);
            all.resize(2 << log_rows, M31::ZERO);
            q.row_numbers(RowNumbers { params: &RowNumbersParams { log_rows }, column: &mut all[1 << log_rows..] })
                .expect("lengths match");
            q.air_columns(AirColumns {
                params: &AirParams { log_rows, log_size: log_rows, registers: 4, outputs: 6 },
                outputs: &AirColumnsParams { columns: 4, counters: 1000 },
                instructions: &instructions,
                masks: &masks,
                constants: &[],
                inputs: &all,
                columns: &mut columns,
                counters: &mut counters,
            })
            .expect("lengths match");
            let mut counted = words(1024, 3);
            let params = &CounterColumnsParams { log_rows: 9, columns: 2 };
            counters.resize(1024, u32::MAX);
            q.counter_columns(CounterColumns { params, counters: &counters, columns: &mut counted })
                .expect("lengths match");
            columns.append(&mut counted);
            columns
        });
    }
}

#[test]
fn every_level_and_thread_count_makes_the_same_columns() {
    for log_rows in [1, 4, 11, 17] {
        let mut fractions = words(16 << log_rows, 1);
        for plane in 4..8 {
            fractions[plane << log_rows] = M31::ZERO;
        }
        expect_equal(&queues(), &format!("2^{log_rows} rows"), |q| {
            let (mut columns, mut sums) = (words(8 << log_rows, 2), vec![QM31::ZERO; 2]);
            let params = &LogUpColumnsParams { log_rows, columns: 2 };
            q.logup_columns(LogUpColumns { params, fractions: &fractions, columns: &mut columns, sums: &mut sums })
                .expect("lengths match");
            (columns, sums)
        });
    }
}
