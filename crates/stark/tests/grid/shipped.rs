//! Statements of the grid and their traces, whatever their AIRs are.

use core_types::field::P;
use stark::{M31, TraceColumns, Visitor};
use stark_airs::WideFibonacci;

use crate::{grid::stated::Stated, statement::Statement};

/// A computation that is generic over a statement and its trace.
pub(crate) trait Use {
    type Out;

    fn with<S: stark::Statement>(self, statement: &S, trace: &[TraceColumns]) -> Self::Out;
}

/// Components of any heights and widths.
struct Fibonaccis(Vec<WideFibonacci>);

impl stark::Statement for Fibonaccis {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        self.0.iter().for_each(|component| visitor.component(component, &[]));
    }
}

/// Words that look random and are the same in each run, as stwo's program makes them.
struct Words(u64);

impl Words {
    fn column(&mut self, log_rows: u32) -> Vec<M31> {
        let mut next = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            M31::from_u32(((self.0 >> 32) % u64::from(P)) as u32)
        };
        (0..1 << log_rows).map(|_| next()).collect()
    }
}

/// Uses a statement whose AIRs ship, with its trace; a wide Fibonacci trace is made from `seed`.
pub(crate) fn with<U: Use>(statement: &Statement, seed: u64, body: U) -> U::Out {
    let words = statement.words();
    match *statement {
        Statement::WideFibonacci { ref log_rows, ref columns } => {
            let mut random = Words(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let (mut airs, mut trace) = (Vec::new(), Vec::new());
            for (&log_rows, &columns) in log_rows.iter().zip(columns) {
                let air = WideFibonacci::new(log_rows, columns).unwrap();
                let [a, b] = [(); 2].map(|()| random.column(log_rows));
                let seeds: Vec<_> = a.into_iter().zip(b).map(|(a, b)| [a, b]).collect();
                trace.extend(air.trace(&seeds).unwrap());
                airs.push(air);
            }
            body.with(&Fibonaccis(airs), &trace)
        }
        ref other => match Stated::of(other) {
            Some(Stated::Steps(machine, trace)) => stated(&machine, &trace, &words, body),
            Some(Stated::Plonk(plonk, trace)) => stated(&plonk, &trace, &words, body),
            Some(Stated::Poseidon2(chain, trace)) => stated(&chain, &trace, &words, body),
            Some(Stated::Blake2s(hash, trace)) => stated(&hash, &trace, &words, body),
            None => panic!("{other:?} does not ship"),
        },
    }
}

/// Uses a statement after checking that its words are `words`.
fn stated<S: stark::Statement, U: Use>(statement: &S, trace: &[TraceColumns], words: &[u32], body: U) -> U::Out {
    assert_eq!(statement.words(), words);
    body.with(statement, trace)
}
