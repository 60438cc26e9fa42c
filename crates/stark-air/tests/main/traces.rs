//! Traces checked against AIRs.

use core_types::{
    air::{Air, Row, Tree},
    field::{M31, QM31},
};
use stark_air::{HostTrace, TraceError, check_trace};

/// A counter that is multiplied by a challenge in separate columns, one row late.
struct Counter;

impl Air for Counter {
    fn log_rows(&self) -> u32 {
        2
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let [before, here] = row.mask(Tree::TRACE, [-1, 0]);
        let is_first = row.preprocessed(0);
        row.constraint((here - before - M31::ONE) * (R::F::from(M31::ONE) - is_first));
        let [next] = row.mask_ext(Tree::INTERACTION, [1]);
        let z = row.challenge(0);
        row.constraint_ext(next - z * here);
    }
}

fn words(words: [u32; 4]) -> Vec<M31> {
    words.map(M31::from_u32).to_vec()
}

fn check(columns: &[Vec<Vec<M31>>], preprocessed: &[Vec<M31>], challenges: &[QM31]) -> Result<(), TraceError> {
    check_trace(&Counter, &HostTrace { columns, preprocessed, challenges, claimed_sum: QM31::ZERO })
}

#[test]
fn the_first_broken_constraint_is_reported_with_what_its_row_reads() {
    let z = QM31::from_coordinates([2, 3, 5, 7].map(M31::from_u32));
    let interaction = [2, 3, 5, 7].map(|k| words([10, 7, 8, 9].map(|counter| k * counter))).to_vec();
    let (mut columns, preprocessed) = ([vec![], vec![words([7, 8, 9, 10])], interaction], [words([1, 0, 0, 0])]);
    assert_eq!(check(&columns, &preprocessed, &[z]), Ok(()));

    columns[2][3][0] = M31::ZERO;
    let refused = check(&columns, &preprocessed, &[z]).expect_err("column 3 is wrong on row 0");
    let TraceError::Violated(violation) = &refused else { panic!("{refused}") };
    assert_eq!((violation.constraint, violation.row), (1, 3));
    assert_eq!(violation.value, QM31::from_coordinates([0, 0, 0, (1 << 31) - 1 - 70].map(M31::from_u32)));
    assert_eq!(violation.masks.len(), 7);

    columns[1][0][2] = M31::from_u32(11);
    let refused = check(&columns, &preprocessed, &[z]).expect_err("8 is not followed by 11");
    let expected = "constraint 0 is (2, 0, 0, 0) on row 2, which read tree 1 column 0 at -1: 8, \
                    tree 1 column 0 at +0: 11, preprocessed slot 0: 0";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn shapes_are_compared_first() {
    let one = [QM31::ONE];
    let (trace, preprocessed) = (vec![words([1, 2, 3, 4])], [words([1, 0, 0, 0])]);
    let missing = check(&[vec![], trace.clone()], &preprocessed, &one);
    assert_eq!(missing, Err(TraceError::Columns { tree: Tree::INTERACTION, expected: 4, got: 0 }));
    let interaction = vec![words([0; 4]); 4];
    let columns = [vec![], trace, interaction];
    let no_slot = check(&columns, &[], &one);
    assert_eq!(no_slot, Err(TraceError::Columns { tree: Tree::PREPROCESSED, expected: 1, got: 0 }));
    let short = check(&columns, &[vec![M31::ZERO; 3]], &one);
    assert_eq!(short, Err(TraceError::Rows { tree: Tree::PREPROCESSED, column: 0, expected: 4, got: 3 }));
    assert_eq!(check(&columns, &preprocessed, &[]), Err(TraceError::Challenges { expected: 1, got: 0 }));
}
