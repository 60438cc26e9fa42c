//! Statements as stwo's program has them, and their traces, by the crate of the AIRs.

use core_types::field::P;
use stark::{Columns, M31, Statement as _, Visitor};
use stark_airs::{Blake2s, Circuit, Gate, Op, Plonk, Poseidon2Chain, StateMachine, WideFibonacci};

use crate::statement::{Statement, gate, message_word, outputs};

/// What is done with a statement and its trace, whatever its AIRs are.
pub(crate) trait Use {
    type Out;

    fn with<S: stark::Statement>(self, statement: &S, trace: &[Columns]) -> Self::Out;
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

/// Uses a statement whose AIRs ship, with its trace; that of wide Fibonacci is made from `seed`.
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
        Statement::Steps { log_rows, first } => {
            let machine = StateMachine::new(log_rows, first.map(M31::from_u32)).unwrap();
            assert_eq!(machine.words(), words);
            body.with(&machine, &machine.trace())
        }
        Statement::Plonk { gates, inputs, .. } => {
            let of = |k| {
                let (adds, inputs) = gate(k);
                Gate { op: if adds { Op::Add } else { Op::Multiply }, inputs }
            };
            let circuit = Circuit::new(2, (0..gates).map(of).collect(), outputs(gates).into()).unwrap();
            let plonk = Plonk::evaluate(circuit, inputs.map(M31::from_u32).to_vec()).unwrap();
            assert_eq!(plonk.words(), words);
            body.with(&plonk, &plonk.trace())
        }
        Statement::Poseidon2 { log_rows, first, .. } => {
            let (chain, trace) = Poseidon2Chain::run(log_rows, first.map(M31::from_u32)).unwrap();
            assert_eq!(chain.words(), words);
            body.with(&chain, &trace)
        }
        Statement::Blake2s { log_blocks, .. } => {
            let block = |k: u32| core::array::from_fn(|word| message_word(16 * k + word as u32));
            let (hash, trace) = Blake2s::run(&(0..1 << log_blocks).map(block).collect::<Vec<_>>()).unwrap();
            assert_eq!(hash.words(), words);
            body.with(&hash, &trace)
        }
        ref other => panic!("{other:?} does not ship"),
    }
}
