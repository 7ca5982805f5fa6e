//! Names as compilers write them, and names that no compiler writes.

use super::demangle;

/// Names by GCC 12 and clang 14 to 22, at least one for each production of the grammar, with the output of llvm-cxxfilt
/// 22.
static NAMES: [(&str, &str); 197] = [
    ("_ZUt_", "'unnamed'"),
    ("_Znwm", "operator new(unsigned long)"),
    ("_Z2ffi", "ff(int)"),
    ("_ZTI1D", "typeinfo for D"),
    ("_ZTS1D", "typeinfo name for D"),
    ("_ZTV1D", "vtable for D"),
    ("_Z3usev", "use()"),
    ("_ZTI2B1", "typeinfo for B1"),
    ("_ZTI2B2", "typeinfo for B2"),
    ("_ZTI2VB", "typeinfo for VB"),
    ("_ZTS2B1", "typeinfo name for B1"),
    ("_ZTS2B2", "typeinfo name for B2"),
    ("_ZTS2VB", "typeinfo name for VB"),
    ("_ZTT2VB", "VTT for VB"),
    ("_ZTV2B1", "vtable for B1"),
    ("_ZTV2B2", "vtable for B2"),
    ("_ZTV2VB", "vtable for VB"),
    ("_ZdlPvm", "operator delete(void*, unsigned long)"),
    ("_Z1fDpDn", "f(std::nullptr_t...)"),
    ("_Z1fPKVi", "f(int volatile const*)"),
    ("_ZGR2rt_", "reference temporary for rt"),
    ("_Z4cplxCd", "cplx(double complex)"),
    ("_Z5retfpi", "retfp(int)"),
    ("_ZN1D1vEv", "D::v()"),
    ("_ZN1D1wEv", "D::w()"),
    ("_ZN1DD0Ev", "D::~D()"),
    ("_ZN1DD2Ev", "D::~D()"),
    ("_ZN1SD1Ev", "S::~S()"),
    ("_ZNSsC1Ev", "std::basic_string<char, std::char_traits<char>, std::allocator<char>>::basic_string()"),
    ("_ZTSFbRlE", "typeinfo name for bool (long&)"),
    ("_Zli3_kme", "operator\"\" _km(long double)"),
    ("_Z1fB3abcv", "f[abi:abc]()"),
    ("_ZN1SdlEPv", "S::operator delete(void*)"),
    ("_ZN2B11vEv", "B1::v()"),
    ("_ZN2B1D0Ev", "B1::~B1()"),
    ("_ZN2B1D1Ev", "B1::~B1()"),
    ("_ZN2B1D2Ev", "B1::~B1()"),
    ("_ZN2B21wEv", "B2::w()"),
    ("_ZN2StD1Ev", "St::~St()"),
    ("_ZN2StD2Ev", "St::~St()"),
    ("_ZN2StclEi", "St::operator()(int)"),
    ("_ZN2StixEi", "St::operator[](int)"),
    ("_ZN2StnwEm", "St::operator new(unsigned long)"),
    ("_ZN2VB1vEv", "VB::v()"),
    ("_ZN2VBD0Ev", "VB::~VB()"),
    ("_ZN2VBD1Ev", "VB::~VB()"),
    ("_ZN2VBD2Ev", "VB::~VB()"),
    ("_Z1fM1AFivE", "f(int (A::*)())"),
    ("_Z1fU3AS1Pi", "f(int* AS1)"),
    ("_Z2cqIiEvT_", "void cq<int>(int)"),
    ("_Z2rqIiEvT_", "void rq<int>(int)"),
    ("_Z3vecDv4_i", "vec(int vector[4])"),
    ("_ZN1A1BC2Ev", "A::B::B()"),
    ("_ZN2StcmES_", "St::operator,(St)"),
    ("_ZN2StplES_", "St::operator+(St)"),
    ("_ZNH1S1fES_", "S::f(this S)"),
    ("_Z1fSsSoSiSd", "f(std::string, std::ostream, std::istream, std::iostream)"),
    ("_Z1fu6__bf16", "f(__bf16)"),
    ("_Z3cq2IiEvT_", "void cq2<int>(int)"),
    ("_ZN2St3fooEv", "St::foo()"),
    ("_ZNK1A3getEv", "A::get() const"),
    ("_ZNKR1S2mfEv", "S::mf() const &"),
    ("_ZNSaIcEC1Ev", "std::allocator<char>::allocator()"),
    ("_ZNSaIcED1Ev", "std::allocator<char>::~allocator()"),
    ("_ZNSaIcED2Ev", "std::allocator<char>::~allocator()"),
    ("_Z1fDv4_fDv_i", "f(float vector[4], int vector[])"),
    ("_Z1fILDn0EEvv", "void f<nullptr>()"),
    ("_Z2bbILb1EEvv", "void bb<true>()"),
    ("_Z3tlsB5cxx11", "tls[abi:cxx11]"),
    ("_ZN1SC2IiEET_", "S::S<int>(int)"),
    ("_ZNK2StcvPiEv", "St::operator int*() const"),
    ("_ZNKR2St2mfEv", "St::mf() const &"),
    ("_ZNO2St3mf2Ev", "St::mf2() &&"),
    ("_ZNV2St3mf3Ev", "St::mf3() volatile"),
    ("_Z2biDB7_DU33_", "bi(_BitInt(7), unsigned _BitInt(33))"),
    ("_ZN1A1bMUlvE_E", "A::b::'lambda'()"),
    ("_ZN1AcvT_IiEEv", "A::operator int<int>()"),
    ("_ZN1CIlE1I1nEv", "C<long>::I::n()"),
    ("_ZN1S1mIiEEvT_", "void S::m<int>(int)"),
    ("_ZNK2StssERKS_", "St::operator<=>(St const&) const"),
    ("_ZTCN2VBE0_2B1", "construction vtable for B1-in-VB"),
    ("_Z2eeIL2E21EEvv", "void ee<(E2)1>()"),
    ("_Z5fnoexPDoFvvE", "fnoex(void (*)() noexcept)"),
    ("_Z5plainPi.cold", "plain(int*) (.cold)"),
    ("_ZNSaIcEC2ERKS_", "std::allocator<char>::allocator(std::allocator<char> const&)"),
    ("_ZSt9terminatev", "std::terminate()"),
    ("_ZTH3tlsB5cxx11", "thread-local initialization routine for tls[abi:cxx11]"),
    ("_ZTW3tlsB5cxx11", "thread-local wrapper routine for tls[abi:cxx11]"),
    ("_ZThn16_N1D1wEv", "non-virtual thunk to D::w()"),
    ("_Z1fITpTyJifEEvv", "void f<int, float>()"),
    ("_Z2frIiEv1CIiET_", "void fr<int>(C<int>, int)"),
    ("_Z3pk2IJEEvDpT_l", "void pk2<>(long)"),
    ("_ZN1CIiEC2IiEET_", "C<int>::C<int>(int)"),
    ("_ZNK2StcvT_IfEEv", "St::operator float<float>() const"),
    ("_Z1fIiEDTnw_T_EEv", "decltype(new int) f<int>()"),
    ("_Z1fIiEDTppfp_ET_", "decltype(fp++) f<int>(int)"),
    ("_Z1fIiEDTtwfp_ET_", "decltype(throw fp) f<int>(int)"),
    ("_Z2cqITk3BigiEvT_", "void cq<int>(int)"),
    ("_Z3pk3IJEEvlDpOT_", "void pk3<>(long)"),
    ("_Z6gettlsB5cxx11v", "gettls[abi:cxx11]()"),
    ("_ZL5sstatB5cxx11v", "sstat[abi:cxx11]()"),
    ("_ZTVN5clang4DeclE", "vtable for clang::Decl"),
    ("_Z1fIJidEEvDpFvT_E", "void f<int, double>(void (int), void (double))"),
    ("_Z1fIiEDTpp_fp_ET_", "decltype(++fp) f<int>(int)"),
    ("_Z2enILN1n1EE1EEvv", "void en<(n::E)1>()"),
    ("_Z2pkIiJEEvT_DpT0_", "void pk<int>(int)"),
    ("_Z3pk3IJfEEvlDpOT_", "void pk3<float>(long, float&&)"),
    ("_Z3ttpISt5tupleEvv", "void ttp<std::tuple>()"),
    ("_ZN1CIiE1mIfEEvT_i", "void C<int>::m<float>(float, int)"),
    ("_ZTv0_n24_N2VB1vEv", "virtual thunk to VB::v()"),
    ("_ZTv0_n32_N2VBD0Ev", "virtual thunk to VB::~VB()"),
    ("_ZTv0_n32_N2VBD1Ev", "virtual thunk to VB::~VB()"),
    ("_Z1fIXadL_Z1gvEEEvv", "void f<&g()>()"),
    ("_Z2pkIiJlEEvT_DpT0_", "void pk<int, long>(int, long)"),
    ("_Z4valsITpTnDaJEEvv", "void vals<>()"),
    ("_Z5fautoILi3EiEvT0_", "void fauto<3, int>(int)"),
    ("_Z5fautoILj3EiEvT0_", "void fauto<3u, int>(int)"),
    ("_Z6retfptIiEPFilET_", "int (*retfpt<int>(int))(long)"),
    ("_ZN2v13TagB3cxx1mEv", "v1::Tag[abi:cxx]::m()"),
    ("_Z1fIXaSLi1ELi2EEEvv", "void f<1 = 2>()"),
    ("_Z1fIXcmLi1ELi2EEEvv", "void f<(1, 2)>()"),
    ("_Z1fIXgtLi1ELi2EEEvv", "void f<(1 > 2)>()"),
    ("_Z5fautoILDn0EiEvT0_", "void fauto<nullptr, int>(int)"),
    ("_Z5fautoILc99EiEvT0_", "void fauto<(char)99, int>(int)"),
    ("_Z1fIJidEEDTsZT_EDpT_", "decltype(sizeof...(int, double)) f<int, double>(int, double)"),
    ("_Z1fIiEDTilfp_fp_EET_", "decltype({fp, fp}) f<int>(int)"),
    ("_Z3fltILf000116c2EEvv", "void flt<0x1.16c2p-133f>()"),
    ("_Z3fltILf40100000EEvv", "void flt<0x1.2p+1f>()"),
    ("_ZN12_GLOBAL__N_11fEi", "(anonymous namespace)::f(int)"),
    ("_ZZ1fvEd0_NKUlvE_clEv", "f()::'lambda'()::operator()() const"),
    ("_Z1fIiEDTclfp_fp_EEOT_", "decltype(fp(fp)) f<int>(int&&)"),
    ("_Z2ipIXadL_ZL3stiEEEvv", "void ip<&sti>()"),
    ("_Z2neIiEDTnxcvT__EES0_", "decltype(noexcept ((int)())) ne<int>(int)"),
    ("_Z3cq2IiEvT_Q3BigIS0_E", "void cq2<int>(int) requires Big<int>"),
    ("_Z5plainPi.constprop.0", "plain(int*) (.constprop.0)"),
    ("_Z2scIiEDTsclcvT__EES0_", "decltype(static_cast<long>((int)())) sc<int>(int)"),
    ("_Z3depI2StENT_4typeES1_", "St::type dep<St>(St)"),
    ("_Z3retIiEDTplfp_Li1EET_", "decltype(fp + 1) ret<int>(int)"),
    ("_Z4fptrIXadL_Z2ffiEEEvv", "void fptr<&ff(int)>()"),
    ("_Z5fautoITnDaLi3EiEvT0_", "void fauto<3, int>(int)"),
    ("_Z5fautoITnDaLj3EiEvT0_", "void fauto<3u, int>(int)"),
    ("_Z2dvI2StEDtsrT_3valES1_", "decltype(St::val) dv<St>(St)"),
    ("_Z5fautoILN1n1EE1EiEvT0_", "void fauto<(n::E)1, int>(int)"),
    ("_Z5fautoITnDaLDn0EiEvT0_", "void fauto<nullptr, int>(int)"),
    ("_Z5fautoITnDaLc99EiEvT0_", "void fauto<(char)99, int>(int)"),
    ("_ZN12_GLOBAL__N_12An1mEv", "(anonymous namespace)::An::m()"),
    ("_ZN12_GLOBAL__N_14anonEi", "(anonymous namespace)::anon(int)"),
    ("_ZSt17__throw_bad_allocv", "std::__throw_bad_alloc()"),
    ("_Z3sumIJiEEDTfrplfp_EDpT_", "decltype(((fp...) + ...)) sum<int>(int)"),
    ("_Z4mem2I2StEDtptfp_1xEPT_", "decltype(fp->x) mem2<St>(St*)"),
    ("_ZNSt14_Function_baseC2Ev", "std::_Function_base::_Function_base()"),
    ("_ZNSt14_Function_baseD2Ev", "std::_Function_base::~_Function_base()"),
    ("_Z1fIXmlplLi1ELi2ELi3EEEvv", "void f<(1 + 2) * 3>()"),
    ("_Z1fIXplLi1EmlLi2ELi3EEEvv", "void f<1 + 2 * 3>()"),
    ("_Z2nwIiEDTnw_T_piLi1EEES0_", "decltype(new int(1)) nw<int>(int)"),
    ("_Z3sumIJilEEDTfrplfp_EDpT_", "decltype(((fp...) + ...)) sum<int, long>(int, long)"),
    ("_ZNK2StcvT_ISt4pairIilEEEv", "St::operator std::pair<int, long><std::pair<int, long>>() const"),
    ("_Z2ipIXadsoiL_Z4globE8EEEvv", "void ip<&glob.<int at offset 8>>()"),
    ("_Z4decoIiLi3EEvDTplT0_Li1EE", "void deco<int, 3>(decltype(3 + 1))"),
    ("_Z4strpIXadsoKcL_Z2ggEEEEvv", "void strp<&gg.<char const at offset 0>>()"),
    ("_ZNSt9_Any_data9_M_accessEv", "std::_Any_data::_M_access()"),
    ("_Z2gnIiEDTclL_ZnwmEstT_EES0_", "decltype(operator new(unsigned long)(sizeof (int))) gn<int>(int)"),
    ("_Z2ilI1PEDTtlT_Li1ELi2EEES1_", "decltype(P{1, 2}) il<P>(P)"),
    ("_Z2ttIN1n1YENS0_1XEEvT_IT0_E", "void tt<n::Y, n::X>(n::Y<n::X>)"),
    ("_Z3memI2StEDTcldtfp_3fooEET_", "decltype(fp.foo()) mem<St>(St)"),
    ("_Z5fautoITnDaLN1n1EE1EiEvT0_", "void fauto<(n::E)1, int>(int)"),
    ("_ZNKSt9_Any_data9_M_accessEv", "std::_Any_data::_M_access() const"),
    ("_ZSt19__throw_logic_errorPKc", "std::__throw_logic_error(char const*)"),
    ("_ZZL5sstatB5cxx11vE1sB5cxx11", "sstat[abi:cxx11]()::s[abi:cxx11]"),
    ("_Z1fIiEDTgsnaLi1E_T_piLi2EEEv", "decltype(::new[](1) int(2)) f<int>()"),
    ("_Z1fIiEDTqultT_Li1ELi2ELi3EEv", "decltype(int < 1 ? 2 : 3) f<int>()"),
    ("_Z3dblILd3ff8000000000000EEvv", "void dbl<0x1.8p+0>()"),
    ("_Z3dblILd8000000000000000EEvv", "void dbl<-0x0p+0>()"),
    ("_Z4arr2ILi3EEvPAplT_Li1E_A3_c", "void arr2<3>(char (*) [3 + 1][3])"),
    ("_Z4dep2I2StENT_1QIiE4typeES1_", "St::Q<int>::type dep2<St>(St)"),
    ("_ZSt20__throw_length_errorPKc", "std::__throw_length_error(char const*)"),
    ("_Z1fIXtl1PLi1ELf40000000EEEEvv", "void f<P{1, 0x1p+1f}>()"),
    ("_ZGVZL5sstatB5cxx11vE1sB5cxx11", "guard variable for sstat[abi:cxx11]()::s[abi:cxx11]"),
    ("_Z2ntIXtl1PLi1ELf40000000EEEEvv", "void nt<P{1, 0x1p+1f}>()"),
    ("_Z4decoIiTnT_Li3EEvDTplT0_Li1EE", "void deco<int, 3>(decltype(3 + 1))"),
    ("_Z4sumlIJiiEEDTfLplLi1Efp_EDpT_", "decltype((1 + ... + (fp...))) suml<int, int>(int, int)"),
    ("_ZNSt11char_traitsIcE6lengthEPKc", "std::char_traits<char>::length(char const*)"),
    ("_ZSt25__throw_bad_function_callv", "std::__throw_bad_function_call()"),
    ("_Z2dfI2StEDTclsrT_2fnIiELi1EEES1_", "decltype(St::fn<int>(1)) df<St>(St)"),
    ("_ZNKSt14_Function_base8_M_emptyEv", "std::_Function_base::_M_empty() const"),
    ("_ZNSt11char_traitsIcE4copyEPcPKcm", "std::char_traits<char>::copy(char*, char const*, unsigned long)"),
    ("_Z4condIiEDTquntcvT__ELi1ELi2EES0_", "decltype(!((int)()) ? 1 : 2) cond<int>(int)"),
    ("_ZNSt11char_traitsIcE6assignERcRKc", "std::char_traits<char>::assign(char&, char const&)"),
    ("_ZSt28__throw_bad_array_new_lengthv", "std::__throw_bad_array_new_length()"),
    ("_ZTVN10__cxxabiv117__class_type_infoE", "vtable for __cxxabiv1::__class_type_info"),
    ("_Z3pk4IJEJEEvDpN1n1YIT_EEiDpNS1_IT0_EE", "void pk4<>(int)"),
    ("_Z3pk4IJifEJEEvDpN1n1YIT_EEiDpNS1_IT0_EE", "void pk4<int, float>(n::Y<int>, n::Y<float>, int)"),
    ("_Z4valsITpTnDaJLi1ELj2ELc99ELb1ELDn0EEEvv", "void vals<1, 2u, (char)99, true, nullptr>()"),
    ("_ZNKSt15__new_allocatorIcE11_M_max_sizeEv", "std::__new_allocator<char>::_M_max_size() const"),
    ("_ZTVN10__cxxabiv121__vmi_class_type_infoE", "vtable for __cxxabiv1::__vmi_class_type_info"),
    ("_Z3cntIJEESt17integral_constantIiXsZT_EEDpT_", "std::integral_constant<int, sizeof...()> cnt<>()"),
    ("_Z2enIiTnNSt9enable_ifIXsr3stdE13is_integral_vIT_EEiE4typeELi0EEvS1_", "void en<int, 0>(int)"),
];

#[test]
fn demangles_every_production_of_the_grammar() {
    for (name, expected) in NAMES {
        assert_eq!(demangle(name).as_deref(), Some(expected), "{name}");
    }
}

/// llvm-cxxfilt 22 prints template parameters in constraints, and types first used there, as `T`.
#[test]
fn replaces_template_parameters_in_constraints() {
    let names = [
        ("_Z2rqIiQgtstT_Li1EEvS0_", "void rq<int>(int)"),
        ("_ZNSt4pairIilEC2EvQaa3yesIT_E3yesIT0_E", "std::pair<int, long>::pair() requires yes<int> && yes<long>"),
    ];
    for (name, expected) in names {
        assert_eq!(demangle(name).as_deref(), Some(expected), "{name}");
    }
}

#[test]
fn rejects_names_that_do_not_follow_the_grammar() {
    let names = [
        "",
        "_Z",
        "_ZN",
        "_ZNE",
        "_Z1",
        "_Z9short",
        "_Z1fS_",
        "_Z1fT_",
        "_Z1fi1",
        "_ZdtE",
        "_Z1é",
        "_Z99999999999999999999a",
    ];
    for name in names {
        assert_eq!(demangle(name), None, "{name}");
    }
}

#[test]
fn every_prefix_of_a_name_demangles_or_not() {
    for (name, _) in NAMES {
        for end in 0..name.len() {
            let _ = demangle(&name[..end]);
        }
    }
}

fn base36(number: u32) -> String {
    let digit = char::from_digit(number % 36, 36).unwrap().to_ascii_uppercase();
    if number < 36 { digit.to_string() } else { format!("{}{digit}", base36(number / 36)) }
}

/// Template arguments that are two copies of the previous ones. Every step doubles the text but not the name.
fn doubling(first: &str, steps: u32) -> String {
    format!("{first}{}", (0..steps).map(|n| format!("S_IS{0}_S{0}_E", base36(n))).collect::<String>())
}

#[test]
fn text_that_doubles_with_each_step_is_limited() {
    let one = "f(pair<int, int>, pair<pair<int, int>, pair<int, int>>)";
    assert_eq!(demangle(&doubling("_Z1f4pairIiiE", 1)).as_deref(), Some(one));
    assert_eq!(demangle(&doubling("_Z1f4pairIiiE", 9)).unwrap().matches("int").count(), 2 * 1023);
    assert_eq!(demangle(&doubling("_Z1f4pairIiiE", 60)), None);
    // Empty packs double the work but not the text.
    assert_eq!(demangle(&format!("_Z1fIJEEvDp{}", doubling("4pairIT_T_E", 60))), None);
}

/// With a backtracking parser, each name took longer than the age of the universe, or more stack than a thread has.
#[test]
fn time_and_depth_are_limited() {
    let names = [
        format!("_Z1f{}I", "ISt".repeat(40_000)),
        format!("_Z1f{}", "StIPC1".repeat(20_000)),
        format!("_Z1f{}i", "P".repeat(100_000)),
        format!("_Z1fi{}", (0..10_000).map(|n| format!("PS{}_", base36(n))).collect::<String>()),
        format!("_ZN{}E", "1a".repeat(50_000)),
        format!("_Z1a{}", "B1b".repeat(50_000)),
        format!("_ZN1a{}C1Ev", "B1b".repeat(50_000)),
        format!("_Z1fIX{}", "pl".repeat(50_000)),
        format!("_Z1f{}", "XLUl".repeat(20_000)),
        format!("_Z1fI{}", "TtTp".repeat(20_000)),
        "_Z".repeat(50_000),
    ];
    let letters = ('A'..='Z').chain('a'..='z').map(|letter| format!("_Z1f{}", letter.to_string().repeat(50_000)));
    for name in names.into_iter().chain(letters) {
        let _ = demangle(&name);
    }
}
