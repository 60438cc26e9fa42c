//! Ways to change a proof.

use core_types::field::{CM31, M31, QM31};
use stark_verifier::{Decommitment, Digest, FriLayerProof, Proof};

/// A changed proof, and where it was changed.
pub(crate) type Tamper = (String, Proof);

/// Every `step`-th change of a proof in its place: each list cut, extended, swapped, each element changed.
pub(crate) fn every(step: usize, proof: &Proof) -> Vec<Tamper> {
    let mut tampers = Tampers { proof, step, count: 0, found: Vec::new() };
    tampers.config();
    tampers.digests("commitments", |proof| &mut proof.commitments);
    tampers.lists("sampled trees", |proof| &mut proof.sampled_values);
    tampers.lists("decommitments", |proof| &mut proof.decommitments);
    tampers.lists("queried trees", |proof| &mut proof.queried_values);
    for tree in 0..proof.sampled_values.len() {
        tampers.tree(tree);
    }
    for change in [1, 1 << 20, 1 << 63] {
        tampers.add(format!("nonce ^ {change:#x}"), |proof| proof.proof_of_work ^= change);
    }
    tampers.layer("first layer".to_owned(), |proof| &mut proof.fri_proof.first_layer);
    tampers.lists("inner layers", |proof| &mut proof.fri_proof.inner_layers);
    for index in 0..proof.fri_proof.inner_layers.len() {
        tampers.layer(format!("inner layer {index}"), move |proof| &mut proof.fri_proof.inner_layers[index]);
    }
    tampers.last_layer();
    tampers.found
}

struct Tampers<'p> {
    proof: &'p Proof,
    step: usize,
    count: usize,
    found: Vec<Tamper>,
}

impl Tampers<'_> {
    /// A change that changes nothing is none.
    fn add(&mut self, name: String, change: impl FnOnce(&mut Proof)) {
        self.count += 1;
        if !self.count.is_multiple_of(self.step) {
            return;
        }
        let mut changed = self.proof.clone();
        change(&mut changed);
        if changed != *self.proof {
            self.found.push((name, changed));
        }
    }

    fn config(&mut self) {
        self.add("work".to_owned(), |proof| proof.config.pow_bits += 1);
        self.add("blowup".to_owned(), |proof| proof.config.fri_config.log_blowup_factor += 1);
        self.add("last layer's bound".to_owned(), |proof| proof.config.fri_config.log_last_layer_degree_bound += 1);
        self.add("queries".to_owned(), |proof| proof.config.fri_config.n_queries += 1);
        self.add("fewer queries".to_owned(), |proof| proof.config.fri_config.n_queries -= 1);
        self.add("fold step".to_owned(), |proof| proof.config.fri_config.fold_step += 1);
        self.add("lifting".to_owned(), |proof| {
            proof.config.lifting_log_size = proof.config.lifting_log_size.map_or(Some(20), |_| None);
        });
    }

    /// A list cut, extended and out of order.
    fn lists<T: Clone>(&mut self, name: &str, list: impl Fn(&mut Proof) -> &mut Vec<T>) {
        let len = list(&mut self.proof.clone()).len();
        if len == 0 {
            return;
        }
        self.add(format!("{name} without the last"), |proof| drop(list(proof).pop()));
        self.add(format!("{name} without the first"), |proof| drop(list(proof).remove(0)));
        self.add(format!("{name} with the last twice"), |proof| {
            let last = list(proof).last().unwrap().clone();
            list(proof).push(last);
        });
        self.add(format!("{name} emptied"), |proof| list(proof).clear());
        self.add(format!("{name} reversed"), |proof| list(proof).reverse());
        self.add(format!("{name} with the first two swapped"), |proof| list(proof).swap(0, 1.min(len - 1)));
    }

    fn digests(&mut self, name: &str, list: impl Fn(&mut Proof) -> &mut Vec<Digest>) {
        self.lists(name, &list);
        for k in ends(list(&mut self.proof.clone()).len()) {
            self.add(format!("{name}, {k} changed at its beginning"), |proof| list(proof)[k].0[0] ^= 1);
            self.add(format!("{name}, {k} changed at its end"), |proof| list(proof)[k].0[31] ^= 0x80);
        }
    }

    fn decommitment(&mut self, name: &str, of: impl Fn(&mut Proof) -> &mut Decommitment) {
        let name = format!("{name}, witness");
        self.digests(&name, |proof| &mut of(proof).hash_witness);
        self.add(format!("{name} extended"), |proof| of(proof).hash_witness.push(Digest::default()));
    }

    fn tree(&mut self, tree: usize) {
        self.decommitment(&format!("tree {tree}"), move |proof| &mut proof.decommitments[tree]);
        self.lists(&format!("tree {tree}, sampled columns"), move |proof| &mut proof.sampled_values[tree]);
        self.lists(&format!("tree {tree}, queried columns"), move |proof| &mut proof.queried_values[tree]);
        self.add(format!("tree {tree}, a sampled column more"), |proof| proof.sampled_values[tree].push(vec![]));
        self.add(format!("tree {tree}, a queried column more"), |proof| proof.queried_values[tree].push(vec![]));
        for column in 0..self.proof.sampled_values[tree].len() {
            let name = format!("tree {tree}, column {column}");
            for k in 0..self.proof.sampled_values[tree][column].len() {
                for unit in UNITS {
                    self.add(format!("{name}, sample {k} + {unit:?}"), |proof| {
                        proof.sampled_values[tree][column][k] += unit;
                    });
                }
            }
            self.add(format!("{name}, a sample more"), |proof| proof.sampled_values[tree][column].push(QM31::ONE));
            self.lists(&format!("{name}, samples"), move |proof| &mut proof.sampled_values[tree][column]);
            for k in ends(self.proof.queried_values[tree][column].len()) {
                self.add(format!("{name}, query {k} + 1"), |proof| {
                    proof.queried_values[tree][column][k] += M31::ONE;
                });
            }
            self.lists(&format!("{name}, queries"), move |proof| &mut proof.queried_values[tree][column]);
        }
    }

    fn layer(&mut self, name: String, of: impl Fn(&mut Proof) -> &mut FriLayerProof + Copy) {
        self.add(format!("{name}, root"), |proof| of(proof).commitment.0[7] ^= 4);
        self.decommitment(&name, move |proof| &mut of(proof).decommitment);
        self.lists(&format!("{name}, values"), move |proof| &mut of(proof).fri_witness);
        self.add(format!("{name}, a value more"), |proof| of(proof).fri_witness.push(QM31::ONE));
        for k in ends(of(&mut self.proof.clone()).fri_witness.len()) {
            for unit in UNITS {
                self.add(format!("{name}, value {k} + {unit:?}"), |proof| of(proof).fri_witness[k] += unit);
            }
        }
    }

    fn last_layer(&mut self) {
        for k in ends(self.proof.fri_proof.last_layer_poly.coeffs.len()) {
            for unit in UNITS {
                self.add(format!("coefficient {k} + {unit:?}"), |proof| {
                    proof.fri_proof.last_layer_poly.coeffs[k] += unit;
                });
            }
        }
        self.lists("coefficients", |proof| &mut proof.fri_proof.last_layer_poly.coeffs);
        for log_size in [0, 1, 5, 11, 31, 32, 63, 64, u32::MAX] {
            self.add(format!("2^{log_size} coefficients"), |proof| proof.fri_proof.last_layer_poly.log_size = log_size);
        }
        self.add("twice the coefficients".to_owned(), |proof| {
            let last = &mut proof.fri_proof.last_layer_poly;
            last.coeffs.resize(2 * last.coeffs.len(), QM31::ZERO);
            last.log_size += 1;
        });
    }
}

/// One in each coordinate.
const UNITS: [QM31; 4] = [QM31::ONE, QM31::I, QM31::U, QM31::new(CM31::ZERO, CM31::new(M31::ZERO, M31::ONE))];

/// The first, the middle and the last index of a list.
fn ends(len: usize) -> Vec<usize> {
    let mut ends: Vec<_> = [0, len / 2, len.saturating_sub(1)].into_iter().filter(|&k| k < len).collect();
    ends.dedup();
    ends
}
