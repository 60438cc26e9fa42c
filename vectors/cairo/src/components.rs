//! The components of Cairo.

use cairo_air::{components, relations::CommonLookupElements};
use serde::de::DeserializeOwned;
use serde_json::json;
use stwo_constraint_framework::FrameworkEval;

/// Log of the number of rows of components that have no height of their own.
const LOG_ROWS: u32 = 5;

/// Takes the components.
pub trait Visit {
    /// Takes the component `name`, which `build` makes of look-up elements.
    fn component<E: FrameworkEval + Sync + 'static>(
        &mut self,
        name: &'static str,
        build: impl Fn(CommonLookupElements) -> E,
    );
}

/// A claim of a component: heights, and first addresses of segments.
fn claim<T: DeserializeOwned>(name: &str) -> T {
    let claim = json!({
        "log_size": LOG_ROWS,
        format!("{name}_segment_start"): 1000,
        // of the one with narrow windows too
        "pedersen_builtin_segment_start": 1000,
    });
    serde_json::from_value(claim).expect("claims are a height and a segment, or nothing")
}

macro_rules! each {
    ($visit:ident: $($name:ident)*) => {$(
        $visit.component(stringify!($name), |common_lookup_elements| {
            components::$name::Eval { claim: claim(stringify!($name)), common_lookup_elements }
        });
    )*};
}

/// Hands over all 68 components.
pub fn each(visit: &mut impl Visit) {
    each! { visit:
        add_ap_opcode add_mod_builtin add_opcode add_opcode_small assert_eq_opcode assert_eq_opcode_double_deref
        assert_eq_opcode_imm bitwise_builtin blake_compress_opcode blake_g blake_round blake_round_sigma call_opcode_abs
        call_opcode_rel_imm cube_252 ec_op_builtin generic_opcode jnz_opcode_non_taken jnz_opcode_taken jump_opcode_abs
        jump_opcode_double_deref jump_opcode_rel jump_opcode_rel_imm memory_address_to_id memory_id_to_small mul_mod_builtin
        mul_opcode mul_opcode_small partial_ec_mul_generic partial_ec_mul_window_bits_18 partial_ec_mul_window_bits_9
        pedersen_aggregator_window_bits_18 pedersen_aggregator_window_bits_9 pedersen_builtin
        pedersen_builtin_narrow_windows pedersen_points_table_window_bits_18 pedersen_points_table_window_bits_9
        poseidon_3_partial_rounds_chain poseidon_aggregator poseidon_builtin poseidon_full_round_chain poseidon_round_keys
        qm_31_add_mul_opcode range_check96_builtin range_check_11 range_check_12 range_check_18 range_check_20
        range_check_252_width_27 range_check_3_3_3_3_3 range_check_3_6_6_3 range_check_4_3 range_check_4_4
        range_check_4_4_4_4 range_check_6 range_check_7_2_5 range_check_8 range_check_9_9 range_check_builtin ret_opcode
        triple_xor_32 verify_bitwise_xor_12 verify_bitwise_xor_4 verify_bitwise_xor_7 verify_bitwise_xor_8
        verify_bitwise_xor_9 verify_instruction
    }
    visit.component("memory_id_to_big", |elements| components::memory_id_to_big::BigEval::new(LOG_ROWS, 0, elements));
}
