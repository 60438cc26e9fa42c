//! The AIRs of the vectors, recorded as whoever wrote them would.

use core_types::air::Relation;
use stwo_air::{FrameworkAir, FrameworkError};

use crate::{
    airs::{Cubes, Neighbours, Pair, Selected, StateMachine, Triple, WideFibonacci, XorTable, XorUse},
    blake2s::{self, Compressions, Elements, Rounds, TABLES},
    shipped::{Gates, Poseidon2, Sixteen, Steps},
    statement::Statement,
};

/// Recorded AIRs, each with the preprocessed columns that its slots are.
pub(crate) type Airs = Vec<(FrameworkAir, Vec<usize>)>;

/// The relations of a statement, in the order in which their elements are drawn.
pub(crate) fn relations(statement: &Statement) -> Vec<Relation> {
    let sizes: &[u32] = match statement {
        Statement::StateMachine { .. } | Statement::Steps { .. } | Statement::Plonk { .. } => &[2],
        Statement::Xor { .. } => &[3],
        Statement::Poseidon2 { .. } => &[16],
        Statement::Blake2s { .. } => &[4, 33, 33, 17],
        _ => &[],
    };
    let mut first = 0;
    let next = |&size: &u32| {
        first += size;
        Relation::new(first - size, size)
    };
    sizes.iter().map(next).collect()
}

/// The components of a statement.
pub(crate) fn airs(statement: &Statement) -> Airs {
    let names: Vec<&str> = statement.preprocessed().into_iter().map(|(name, _)| name).collect();
    let relations = relations(statement);
    let all: Vec<Result<FrameworkAir, FrameworkError>> = match *statement {
        Statement::WideFibonacci { ref log_rows, ref columns } => {
            let airs = log_rows.iter().zip(columns).map(|(&log_rows, &columns)| WideFibonacci { log_rows, columns });
            airs.map(|air| FrameworkAir::new(&air)).collect()
        }
        Statement::Neighbours { log_rows } => vec![FrameworkAir::new(&Neighbours { log_rows })],
        Statement::Cubes { log_rows } => vec![FrameworkAir::new(&Cubes { log_rows })],
        Statement::Selected { log_rows: [first, second], .. } => vec![
            FrameworkAir::new(&Selected { log_rows: first, selector: "selector-1", offset: "offset-1" }),
            FrameworkAir::new(&Selected {
                log_rows: second,
                selector: statement.second_selector(),
                offset: "offset-2",
            }),
        ],
        Statement::StateMachine { log_rows, in_pairs } => vec![FrameworkAir::with_relations(&relations, |channel| {
            StateMachine { log_rows, in_pairs, states: Pair::draw(channel) }
        })],
        Statement::Xor { log_rows, bits } => vec![
            FrameworkAir::with_relations(&relations, |channel| XorUse { log_rows, table: Triple::draw(channel) }),
            FrameworkAir::with_relations(&relations, |channel| XorTable {
                log_rows: 2 * bits,
                table: Triple::draw(channel),
            }),
        ],
        Statement::Steps { log_rows, .. } => [0, 1]
            .map(|axis| {
                FrameworkAir::with_relations(&relations, |channel| Steps {
                    log_rows: log_rows[axis],
                    axis,
                    states: Pair::draw(channel),
                })
            })
            .into(),
        Statement::Plonk { .. } => vec![FrameworkAir::with_relations(&relations, |channel| Gates {
            log_rows: statement.heights()[0],
            wires: Pair::draw(channel),
        })],
        Statement::Poseidon2 { log_rows, .. } => vec![FrameworkAir::with_relations(&relations, |channel| Poseidon2 {
            log_rows,
            states: Sixteen::draw(channel),
        })],
        Statement::Blake2s { log_blocks, .. } => {
            let rounds = |log_rounds| {
                FrameworkAir::with_relations(&relations, |channel| Rounds {
                    log_rows: log_blocks + log_rounds,
                    elements: Elements::draw(channel),
                })
            };
            let compressions = FrameworkAir::with_relations(&relations, |channel| Compressions {
                log_rows: log_blocks,
                elements: Elements::draw(channel),
            });
            let tables = TABLES.map(|(low, high)| {
                FrameworkAir::with_relations(&relations, |channel| blake2s::XorTable {
                    low,
                    high,
                    elements: Elements::draw(channel),
                })
            });
            [compressions, rounds(3), rounds(1)].into_iter().chain(tables).collect()
        }
    };
    let placed = |air: Result<FrameworkAir, FrameworkError>| {
        let air = air.unwrap();
        let places = air.places(&names).unwrap();
        (air, places)
    };
    all.into_iter().map(placed).collect()
}
