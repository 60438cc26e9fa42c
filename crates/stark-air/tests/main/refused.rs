//! AIRs that cannot be recorded.

use core_types::{
    air::{Air, BaseValue, Fraction, LogUp, Relation, Row, Tree},
    field::M31,
};
use stark_air::{RecordError, Recorded};

struct Sized {
    log_rows: u32,
    log_degree_bound: u32,
    degree: u32,
}

impl Air for Sized {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn log_degree_bound(&self) -> u32 {
        self.log_degree_bound
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let x = row.column();
        if self.degree > 0 {
            row.constraint(x - x.square() + R::F::from(M31::ONE));
            row.constraint((1..self.degree).fold(x, |power, _| power * x));
        }
    }
}

#[test]
fn sizes_and_degrees_are_held() {
    let recorded = |log_rows, log_degree_bound, degree| Recorded::new(&Sized { log_rows, log_degree_bound, degree });
    assert_eq!(recorded(0, 1, 2), Err(RecordError::LogRows { got: 0 }));
    assert_eq!(recorded(31, 31, 2), Err(RecordError::LogRows { got: 31 }));
    assert_eq!(recorded(5, 4, 2), Err(RecordError::LogDegreeBound { log_rows: 5, got: 4 }));
    assert_eq!(recorded(5, 31, 2), Err(RecordError::LogDegreeBound { log_rows: 5, got: 31 }));
    assert_eq!(recorded(5, 6, 0).map(|recorded| recorded.constraints()), Ok(0));
    for (extra, most) in [(0, 2), (1, 3), (2, 5), (3, 9)] {
        assert!(recorded(5, 5 + extra, most).is_ok());
        let degree = most + 1;
        assert_eq!(recorded(5, 5 + extra, degree), Err(RecordError::Degree { constraint: 1, degree, most }));
    }
}

const VALUE: Relation = Relation::new(0, 1);

#[derive(Clone, Copy, Debug)]
enum WrongAir {
    Preprocessed,
    Tree,
    FractionOfInteraction,
    TwoLists,
    NoRunningSum,
    ColumnBesides,
    Nodes,
    Challenge(u32),
}

impl Air for WrongAir {
    fn log_rows(&self) -> u32 {
        4
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let x = row.column();
        row.constraint(x);
        let fraction = Fraction { numerator: R::E::from(x), denominator: row.challenge(0) - x };
        match self {
            Self::Preprocessed => row.mask(Tree::PREPROCESSED, [0]).map(drop)[0],
            Self::Tree => row.mask(Tree(1 << 20), [0]).map(drop)[0],
            Self::FractionOfInteraction => {
                let mut sums = LogUp::new(1);
                sums.add(row, fraction);
                let sum = row.partial_sum(None, fraction);
                row.running_sum(Some(sum), Fraction { numerator: sum, ..fraction });
            }
            Self::TwoLists => {
                for _ in 0..2 {
                    let mut list = LogUp::new(1);
                    list.entry(row, VALUE, R::E::from(x), &[x]);
                    list.finish(row);
                }
            }
            Self::NoRunningSum => {
                row.partial_sum(None, fraction);
            }
            Self::ColumnBesides => {
                row.running_sum(None, fraction);
                row.mask(Tree::INTERACTION, [0]);
            }
            Self::Nodes => {
                let mut sum = x;
                for word in 0..1 << 21 {
                    sum = sum.square() + M31::from_u32(word);
                }
                row.constraint(sum);
            }
            Self::Challenge(slot) => {
                let far = row.challenge(*slot);
                row.constraint_ext(far);
            }
        }
    }
}

#[test]
fn what_cannot_be_read_or_named_is_refused() {
    assert_eq!(Recorded::new(&WrongAir::Preprocessed), Err(RecordError::PreprocessedMask));
    assert_eq!(
        Recorded::new(&WrongAir::FractionOfInteraction),
        Err(RecordError::FractionReadsInteraction { fraction: 1 })
    );
    for wrong in [WrongAir::TwoLists, WrongAir::NoRunningSum, WrongAir::ColumnBesides] {
        assert_eq!(Recorded::new(&wrong), Err(RecordError::LookUps), "{wrong:?}");
        // A prover that is given interaction columns does not mind.
        assert_eq!(Recorded::of_constraints(&wrong).unwrap().fraction_program(), None, "{wrong:?}");
    }
    let refused = Recorded::new(&WrongAir::Nodes);
    assert!(matches!(refused, Err(RecordError::TooMany { what: "nodes", most: 0x10_0000, .. })), "{refused:?}");
    let too_many = |what, most, got| Err(RecordError::TooMany { what, most, got });
    assert_eq!(Recorded::new(&WrongAir::Tree), too_many("trees", 256, (1 << 20) + 1));
    // Programs read the mean in the slot after the challenges.
    assert_eq!(Recorded::new(&WrongAir::Challenge(65_535)), too_many("challenges", 65_536, 65_537));
    assert_eq!(Recorded::new(&WrongAir::Challenge(65_534)).map(|recorded| recorded.challenges()), Ok(65_535));
}

/// Sums of one column, constant or value more than a program has numbers for.
enum ManySums {
    Columns,
    Constants,
    Values,
}

impl Air for ManySums {
    fn log_rows(&self) -> u32 {
        4
    }

    fn eval<R: Row>(&self, row: &mut R) {
        const MORE: u32 = (1 << 16) + 1;
        let x = row.column();
        let sum = match self {
            Self::Columns => (1..MORE).fold(x, |sum, _| sum + row.column()),
            Self::Constants => (2..MORE + 2).fold(x, |sum, factor| sum + x * M31::from_u32(factor)),
            // Each value leads to the next one, and is needed again when all are known.
            Self::Values => {
                let next = |value: &R::F| Some(*value + x);
                let values: Vec<R::F> = core::iter::successors(next(&x), next).take(MORE as usize).collect();
                let last = values[MORE as usize - 1];
                row.constraint(last);
                values.into_iter().fold(x.square(), |sum, value| sum + value)
            }
        };
        row.constraint(sum);
    }
}

#[test]
fn programs_with_more_than_they_have_numbers_for_are_refused() {
    let most = 1 << 16;
    for (sums, what, got) in [
        (ManySums::Columns, "masks", most + 1),
        (ManySums::Constants, "constants", most + 1),
        // Registers are counted in groups of four.
        (ManySums::Values, "registers", most + 4),
    ] {
        assert_eq!(Recorded::new(&sums), Err(RecordError::TooMany { what, most, got }));
    }
}
