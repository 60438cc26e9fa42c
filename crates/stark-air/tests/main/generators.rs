//! Recorded generators make the rows that their code makes, and what cannot be recorded is refused.

use core_types::{
    air::{BaseValue, Generator, NewRow},
    field::M31,
};
use fastrand::Rng;
use stark_air::{RecordError, RecordedGenerator};

use crate::{interpreter::run, random::word};

/// Expressions that follow from a seed, over three inputs and the number of the row.
struct Random {
    log_rows: u32,
    seed: u64,
    columns: usize,
}

impl Generator for Random {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn generate<R: NewRow>(&self, row: &mut R) {
        let rng = &mut Rng::with_seed(self.seed);
        let [before, after] = row.mask([-1, 2]);
        let mut pool = vec![before, after, row.input(), row.input()];
        if self.seed.is_multiple_of(2) {
            pool.push(row.number());
        }
        for _ in 0..self.columns {
            let (a, b) = (pool[rng.usize(..pool.len())], pool[rng.usize(..pool.len())]);
            let value = match rng.u8(..7) {
                0 => a + b,
                1 => a - b,
                2 => a * b,
                3 => a.square() + word(rng),
                4 => {
                    let to = rng.u32(1..32);
                    row.bits(a, rng.u32(..to), to)
                }
                5 => row.xor(a, b),
                _ => -a * word(rng),
            };
            pool.push(value);
            row.write(value);
            if rng.u8(..4) == 0 {
                row.count(a);
            }
        }
    }
}

/// A row that is made at once.
struct Scalars<'a> {
    inputs: &'a [Vec<M31>],
    number: usize,
    read: usize,
    written: Vec<M31>,
    counted: Vec<M31>,
}

impl NewRow for Scalars<'_> {
    type F = M31;

    fn mask<const K: usize>(&mut self, offsets: [i32; K]) -> [M31; K] {
        let input = &self.inputs[self.read];
        self.read += 1;
        offsets.map(|offset| input[(self.number as i64 + i64::from(offset)).rem_euclid(input.len() as i64) as usize])
    }

    fn number(&mut self) -> M31 {
        M31::from_u32(self.number as u32)
    }

    fn write(&mut self, value: M31) {
        self.written.push(value);
    }

    fn bits(&mut self, value: M31, from: u32, to: u32) -> M31 {
        M31::from_u32((value.word() & ((1 << to) - 1)) >> from)
    }

    fn xor(&mut self, a: M31, b: M31) -> M31 {
        M31::from_u32(a.word() ^ b.word())
    }

    fn count(&mut self, key: M31) {
        self.counted.push(key);
    }
}

#[test]
fn programs_make_the_rows_of_their_generators() {
    for seed in 0..200 {
        let generator = Random { log_rows: 1 + (seed % 4) as u32, seed, columns: 1 + (seed % 37) as usize };
        let recorded = RecordedGenerator::new(&generator).unwrap();
        assert_eq!(recorded.log_rows(), generator.log_rows);
        assert_eq!((recorded.inputs(), recorded.columns()), (3, generator.columns));
        let rows = 1 << generator.log_rows;
        let mut rng = Rng::with_seed(seed + 1000);
        let inputs: Vec<Vec<M31>> = (0..3).map(|_| (0..rows).map(|_| word(&mut rng)).collect()).collect();
        let reads_numbers = recorded.masks().iter().any(|mask| mask.first == 3 * rows as u64 && mask.offset == 0);
        assert_eq!(recorded.reads_numbers(), reads_numbers);
        for number in 0..rows {
            let mut row = Scalars { inputs: &inputs, number, read: 0, written: Vec::new(), counted: Vec::new() };
            generator.generate(&mut row);
            // The values of the masks, in rows instead of stored positions.
            let mask = |mask: core_types::params::air::MaskAt| {
                let at = (number as i64 + i64::from(mask.offset)).rem_euclid(rows as i64) as usize;
                match mask.first as usize / rows {
                    3 => M31::from_u32(at as u32),
                    input => inputs[input][at],
                }
            };
            let masks: Vec<M31> = recorded.masks().into_iter().map(mask).collect();
            let made: Vec<M31> =
                run(recorded.program(), &masks, &[]).into_iter().map(|value| value.coordinates()[0]).collect();
            assert_eq!(made, [row.written, row.counted].concat(), "seed {seed}, row {number}");
        }
    }
}

#[test]
fn generators_without_rows_or_columns_are_refused() {
    let recorded = |log_rows, columns| RecordedGenerator::new(&Random { log_rows, seed: 1, columns });
    assert_eq!(recorded(0, 1), Err(RecordError::LogRows { got: 0 }));
    assert_eq!(recorded(31, 1), Err(RecordError::LogRows { got: 31 }));
    assert_eq!(recorded(4, 0), Err(RecordError::NoColumn));
    assert_eq!(RecordedGenerator::new(&BitColumns { from: 0, to: 31 }).unwrap().columns(), 1 << 16);
    assert_eq!(RecordedGenerator::new(&BitColumns { from: 3, to: 3 }), Err(RecordError::Bits { from: 3, to: 3 }));
    assert_eq!(RecordedGenerator::new(&BitColumns { from: 0, to: 32 }), Err(RecordError::Bits { from: 0, to: 32 }));
    let refused = RecordedGenerator::new(&BitColumns { from: 1, to: 2 });
    let (what, most) = ("outputs", 1 << 16);
    assert_eq!(refused, Err(RecordError::TooMany { what, most, got: most + 1 }));
}

/// A generator with the maximum number of columns, and a counter if low bits are left out.
struct BitColumns {
    from: u32,
    to: u32,
}

impl Generator for BitColumns {
    fn log_rows(&self) -> u32 {
        4
    }

    fn generate<R: NewRow>(&self, row: &mut R) {
        let input = row.input();
        let value = row.bits(input, self.from, self.to);
        (0..1 << 16).for_each(|_| row.write(value));
        if self.from > 0 {
            row.count(value);
        }
    }
}
