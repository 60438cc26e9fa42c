//! Wide Fibonacci.

use core_types::field::M31;
use stark_airs::{AirError, WideFibonacci};

use crate::check::{assert_every_cell_matters, assert_holds};

fn seeds(log_rows: u32) -> Vec<[M31; 2]> {
    (0..1 << log_rows).map(|row| [row + 1, 7 * row + 3].map(M31::from_u32)).collect()
}

#[test]
fn rows_are_sums_of_squares() {
    for log_rows in 1..=6 {
        for columns in [3, 4, 5, 20, 100] {
            let air = WideFibonacci::new(log_rows, columns).unwrap();
            let trace = air.trace(&seeds(log_rows)).unwrap();
            assert_holds(&air, &trace, &[columns as usize - 2]);
        }
    }
}

#[test]
fn a_changed_cell_is_noticed() {
    let air = WideFibonacci::new(3, 6).unwrap();
    assert_every_cell_matters(&air, &air.trace(&seeds(3)).unwrap(), &[1]);
}

#[test]
fn sizes_without_proofs_are_refused() {
    for log_rows in [0, 30, u32::MAX] {
        assert_eq!(WideFibonacci::new(log_rows, 3), Err(AirError::Rows { log_rows, least: 1, most: 29 }));
    }
    assert_eq!(WideFibonacci::new(4, 2), Err(AirError::Columns { got: 2, least: 3, most: 65_536 }));
    assert_eq!(WideFibonacci::new(4, 65_537), Err(AirError::Columns { got: 65_537, least: 3, most: 65_536 }));
    assert!(WideFibonacci::new(4, 65_536).is_ok());
    let refused = WideFibonacci::new(4, 3).unwrap().trace(&seeds(3));
    assert_eq!(refused, Err(AirError::Length { what: "seeds", expected: 16, got: 8 }));
}
