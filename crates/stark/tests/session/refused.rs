//! Refused inputs, by error, and that a prover can prove after a refusal.

use core_types::field::{M31, QM31};
use stark::{
    Component, Generated, Interaction, MemoryPlan, PcsConfig, ProofGraphPair, Protocol, Prover, ProverError,
    RecordedGenerator, Residency, preprocessed_root,
};
use stark_air::RecordError;
use stark_airs::WideFibonacci;
use stark_fft::FftError;
use stark_verifier::{ConfigError, StatementError};

use crate::{
    common::slices,
    host_columns::only_preprocessed,
    session::{
        airs::{Constraints, VectorAir},
        prove::{components, finish, prover},
        traces::traces,
    },
    statement::Statement,
};

const FIBONACCI: fn() -> Statement = || Statement::WideFibonacci { log_rows: vec![4], columns: vec![5] };

#[test]
fn a_trace_that_breaks_a_constraint_is_refused_and_the_next_is_proven() {
    let q = runtime::cpu().unwrap();
    for statement in [
        FIBONACCI(),
        Statement::Neighbours { log_rows: 4 },
        Statement::StateMachine { log_rows: 4, in_pairs: true },
        Statement::Selected { log_rows: [5, 4], unused: None },
    ] {
        let right = traces(&statement, 7);
        let mut prover = prover(&q, &statement, PcsConfig::default(), &right).unwrap();
        let proof = finish(&q, &mut prover, &statement, &right).unwrap();
        for column in 0..right.trace.len() {
            let mut wrong = traces(&statement, 7);
            let row = 3 % wrong.trace[column].len();
            wrong.trace[column][row] += M31::ONE;
            let refused = finish(&q, &mut prover, &statement, &wrong).map(|_| ());
            // Any state may be followed by the next one: look-ups alone would not add up.
            let look_ups_only = matches!(statement, Statement::StateMachine { .. });
            assert_eq!(refused, if look_ups_only { Ok(()) } else { Err(ProverError::Constraints) }, "{statement:?}");
        }
        assert_eq!(finish(&q, &mut prover, &statement, &right).unwrap(), proof);
    }
}

#[test]
fn columns_of_other_numbers_and_lengths_are_named() {
    let q = runtime::cpu().unwrap();
    let statement = FIBONACCI();
    let right = traces(&statement, 1);
    let mut prover = prover(&q, &statement, PcsConfig::default(), &right).unwrap();
    let columns = slices(&right.trace);
    assert_eq!(prover.prove(&q, &columns[1..]), Err(ProverError::Columns { tree: 1, expected: 5, got: 4 }));
    let mut short = columns.clone();
    short[2] = &short[2][1..];
    assert_eq!(prover.prove(&q, &short), Err(ProverError::Rows { tree: 1, column: 2, expected: 16, got: 15 }));
    assert!(prover.prove(&q, &columns).is_ok());
}

#[test]
fn generators_and_inputs_of_other_traces_are_named() {
    let q = runtime::cpu().unwrap();
    let statement = FIBONACCI();
    let right = traces(&statement, 1);
    let mut prover = prover(&q, &statement, PcsConfig::default(), &right).unwrap();
    let (expected, _) = finish(&q, &mut prover, &statement, &right).unwrap();
    let inputs = &slices(&right.trace)[..2];
    let [generator, wide, high] = [[4, 5], [4, 6], [5, 5]].map(|[log_rows, columns]| {
        let seeds = vec![[M31::ONE; 2]; 1 << log_rows];
        let generator = WideFibonacci::new(log_rows, columns).unwrap().seeds(&seeds).unwrap();
        RecordedGenerator::new(&generator).unwrap()
    });
    let generated = Generated::Rows { generator: &generator, inputs };
    let mut prove = |components: &[Generated<'_>]| {
        let mut session = prover.begin(&q).unwrap();
        session.commit_preprocessed().unwrap();
        session.mix_u32s(&statement.heights()).unwrap();
        session.commit_generated(components)?;
        session.finish()
    };
    assert_eq!(prove(&[]), Err(ProverError::Generators { expected: 1, got: 0 }));
    assert_eq!(prove(&[generated; 2]), Err(ProverError::Generators { expected: 1, got: 2 }));
    let refused = |what, expected, got| Err(ProverError::Generator { component: 0, what, expected, got });
    assert_eq!(prove(&[Generated::Rows { generator: &wide, inputs }]), refused("columns", 5, 6));
    assert_eq!(prove(&[Generated::Rows { generator: &high, inputs }]), refused("rows", 16, 32));
    assert_eq!(prove(&[Generated::Rows { generator: &generator, inputs: &inputs[..1] }]), refused("inputs", 2, 1));
    let short = [inputs[0], &inputs[1][1..]];
    assert_eq!(
        prove(&[Generated::Rows { generator: &generator, inputs: &short }]),
        refused("rows of each input", 16, 15)
    );
    assert_eq!(prove(&[generated]), Ok(expected));
    let mut session = prover.begin(&q).unwrap();
    assert_eq!(session.commit_generated(&[generated]), Err(ProverError::Tree { expected: 0, got: 1 }));
}

#[test]
fn trees_out_of_order_are_named() {
    let q = runtime::cpu().unwrap();
    let statement = FIBONACCI();
    let right = traces(&statement, 1);
    let mut prover = prover(&q, &statement, PcsConfig::default(), &right).unwrap();
    let columns = slices(&right.trace);
    let mut session = prover.begin(&q).unwrap();
    assert_eq!(session.commit(&columns), Err(ProverError::Tree { expected: 0, got: 1 }));
    session.commit_preprocessed().unwrap();
    assert_eq!(session.commit_preprocessed(), Err(ProverError::Tree { expected: 1, got: 0 }));
    assert_eq!(session.commit_look_ups(), Err(ProverError::Tree { expected: 1, got: 2 }));
    assert_eq!(session.finish(), Err(ProverError::Unfinished { expected: 2, got: 1 }));
    let mut session = prover.begin(&q).unwrap();
    session.commit_preprocessed().unwrap();
    session.commit(&columns).unwrap();
    assert_eq!(session.commit(&columns), Err(ProverError::NoTree { trees: 2, got: 2 }));
    let none = || Err(ProverError::NoTree { trees: 2, got: 2 });
    assert_eq!(session.commit_look_ups(), none());
    assert_eq!(session.load_interaction(&Interaction::default()), none());
    prover.load(&q, &columns).unwrap();
    let mut pair = ProofGraphPair::new();
    let interact = |_: &[QM31]| Ok::<_, ProverError>(Interaction::default());
    let paired = pair.submit(&mut prover, &q, &[], only_preprocessed, interact, |session| session.submit());
    assert_eq!(paired.map(drop), none());
}

#[test]
fn statements_without_proofs_are_named() {
    let q = runtime::cpu().unwrap();
    let make = |config, preprocessed: &[&[M31]], statement: &Statement| {
        Prover::new(&q, Protocol::V2_3, config, preprocessed, components(statement)).map(|_| ()).unwrap_err()
    };
    let mut config = PcsConfig::default();
    config.fri_config.fold_step = 5;
    assert_eq!(make(config, &[], &FIBONACCI()), ProverError::Statement(StatementError::Folds { log_degree: 4 }));
    let two = Statement::WideFibonacci { log_rows: vec![4, 5], columns: vec![3, 3] };
    let config = PcsConfig { lifting_log_size: Some(5), ..PcsConfig::default() };
    assert_eq!(make(config, &[], &two), ProverError::Statement(StatementError::Lifting { log_size: 6 }));
    let work = PcsConfig { pow_bits: 41, ..PcsConfig::default() };
    assert_eq!(make(work, &[], &FIBONACCI()), ProverError::Work { got: 41, most: 40 });
    let most = PcsConfig { pow_bits: 40, ..PcsConfig::default() };
    assert!(Prover::new(&q, Protocol::V2_3, most, &[], components(&FIBONACCI())).is_ok());
    let rows = vec![M31::ONE; 16];
    let lifted = |lifting| PcsConfig { lifting_log_size: Some(lifting), ..PcsConfig::default() };
    for (config, expected) in [
        (lifted(4), StatementError::Lifting { log_size: 5 }),
        (lifted(64), StatementError::Config(ConfigError::Lifting { got: 64 })),
    ] {
        assert_eq!(preprocessed_root(&q, &config, &[&rows]), Err(ProverError::Statement(expected)));
    }
    let three = vec![M31::ONE; 3];
    assert_eq!(
        make(PcsConfig::default(), &[&three], &FIBONACCI()),
        ProverError::Rows { tree: 0, column: 0, expected: 4, got: 3 }
    );
    let empty = Prover::new(&q, Protocol::V2_3, PcsConfig::default(), &[], vec![]).map(|_| ()).unwrap_err();
    assert_eq!(empty, ProverError::Statement(StatementError::NoComponent));
}

#[test]
fn columns_of_no_rows_and_of_a_few_are_named() {
    let q = runtime::cpu().unwrap();
    let statement = Statement::WideFibonacci { log_rows: vec![4], columns: vec![3] };
    let right = traces(&statement, 1);
    let mut prover = prover(&q, &statement, PcsConfig::default(), &right).unwrap();
    let columns = slices(&right.trace);
    for got in (0..16).chain([17, 32]) {
        let rows = vec![M31::ONE; got];
        let changed = [columns[0], &rows, columns[2]];
        let refused = ProverError::Rows { tree: 1, column: 1, expected: 16, got };
        assert_eq!(prover.prove(&q, &changed), Err(refused), "{got} rows");
    }
    assert!(prover.prove(&q, &columns).is_ok());
    for got in (0..16).filter(|got: &usize| !got.is_power_of_two()) {
        let refused = ProverError::Rows { tree: 0, column: 0, expected: got.next_power_of_two(), got };
        assert_eq!(preprocessed_root(&q, &PcsConfig::default(), &[&vec![M31::ONE; got]]), Err(refused));
    }
    let single = preprocessed_root(&q, &PcsConfig::default(), &[&[M31::ONE]]);
    assert_eq!(single, Err(ProverError::Fft(FftError::LogSize { got: 0 })), "one row has no domain");
}

#[test]
fn heights_without_a_domain_are_named() {
    let q = runtime::cpu().unwrap();
    let constraints = Constraints::WideFibonacci { columns: 3 };
    let of = |log_rows| Component::new(&VectorAir { log_rows, constraints }, &[]);
    for got in [0, 31, u32::MAX] {
        assert_eq!(of(got).map(|_| ()), Err(RecordError::LogRows { got }));
    }
    let rows = |log_rows| Err(ProverError::Statement(StatementError::Rows { log_rows }));
    for (log_rows, log_blowup_factor) in [(29, 2), (28, 3), (15, 16)] {
        let mut config = PcsConfig::default();
        config.fri_config.log_blowup_factor = log_blowup_factor;
        let made = Prover::new(&q, Protocol::V2_3, config, &[], vec![of(log_rows).unwrap()]);
        assert_eq!(made.map(|_| ()), rows(log_rows));
        // Half the rows have a domain.
        let half = [of(log_rows - 1).unwrap()];
        assert!(MemoryPlan::new(&config, &[], &half, Residency::Full).is_ok(), "2^{} rows", log_rows - 1);
    }
}
