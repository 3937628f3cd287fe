//! Plain tests of the whole binary, and guards over the source tree. Nothing here needs Go, root or a network.

mod it {
    mod access;
    mod errors;
    mod layers;
    mod plugin;
    mod readme;
    mod recorded;
    mod refusals;
    mod several;
}
