//! Each public macro, in each position: what clippy and rustc do not say of a user's code, they must not say of ours. Denied is all
//! that one may ask of a library whose parts are public.
#![deny(warnings, missing_docs)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]
#![deny(
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    let_underscore_drop,
    meta_variable_misuse,
    missing_copy_implementations,
    missing_debug_implementations,
    redundant_imports,
    redundant_lifetimes,
    single_use_lifetimes,
    tail_expr_drop_order,
    trivial_casts,
    trivial_numeric_casts,
    unnameable_types,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    unused_lifetimes,
    unused_macro_rules,
    unused_qualifications,
    variant_size_differences
)]
#![deny(
    clippy::as_conversions,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_enums,
    clippy::float_arithmetic,
    clippy::if_then_some_else_none,
    clippy::indexing_slicing,
    clippy::infinite_loop,
    clippy::let_underscore_must_use,
    clippy::let_underscore_untyped,
    clippy::missing_docs_in_private_items,
    clippy::multiple_unsafe_ops_per_block,
    clippy::panic,
    clippy::pub_use,
    clippy::same_name_method,
    clippy::shadow_reuse,
    clippy::shadow_same,
    clippy::shadow_unrelated,
    clippy::std_instead_of_core,
    clippy::undocumented_unsafe_blocks,
    clippy::unnecessary_safety_comment,
    clippy::unneeded_field_pattern,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]

pub mod declarations;
pub mod positions;
