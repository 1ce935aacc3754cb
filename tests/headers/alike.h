/* Whether a declaration of ours is to a caller what the vendor's is (C++17, for tests/headers).
 *
 * Handles and enumerations have types of their own there and plain ones here.  So types are alike
 * that are passed alike: numbers of one kind and size, structures of one size, pointers to what is
 * alike, unknown, or bytes.  */
#ifndef TESTS_HEADERS_ALIKE_H
#define TESTS_HEADERS_ALIKE_H
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>

struct Absent {};             /* of what an older toolkit does not declare */

template <class T, class = void> struct Size : std::integral_constant<size_t, 0> {};
template <class T>
struct Size<T, std::enable_if_t<!std::is_function_v<T> && !std::is_void_v<T> && (sizeof(T) > 0)>>
    : std::integral_constant<size_t, sizeof(T)> {};

template <class A, class B> struct Alike;
template <class A, class B> constexpr bool alike() {
    using P = std::remove_cv_t<std::remove_pointer_t<A>>;
    using Q = std::remove_cv_t<std::remove_pointer_t<B>>;
    if constexpr (std::is_pointer_v<A> != std::is_pointer_v<B>) return false;
    else if constexpr (!std::is_pointer_v<A>) return Alike<A, B>::value;
    else if constexpr (std::is_function_v<P> || std::is_function_v<Q>) return Alike<P, Q>::value;
    else if constexpr (std::is_void_v<P> || std::is_void_v<Q>) return true;
    else if constexpr (std::is_pointer_v<P> != std::is_pointer_v<Q>) return false;
    else return Size<P>::value <= 1 || Size<Q>::value <= 1 || alike<P, Q>();
}
template <class A, class B> struct Alike
    : std::bool_constant<Size<A>::value == Size<B>::value &&
                         std::is_class_v<A> == std::is_class_v<B> &&
                         std::is_floating_point_v<A> == std::is_floating_point_v<B>> {};
template <class R, class... A, class S, class... B> struct Alike<R(A...), S(B...)> {
    static constexpr bool test() {
        if constexpr (sizeof...(A) != sizeof...(B)) return false;
        else return alike<R, S>() && (alike<A, B>() && ...);
    }
    static constexpr bool value = test();
};

static int compared, different, absent;
static inline void is_absent(const char *name) {
    absent++;
    std::printf("# this toolkit does not declare %s\n", name);
}

template <class Ours, class Theirs> void compare(const char *name) {
    if constexpr (std::is_same_v<Theirs, const Absent>) is_absent(name);
    else {
        compared++;
        if (alike<Ours, Theirs>()) return;
        different++;
        std::printf("# %s has other parameters\n", name);
    }
}
template <class Theirs> void compare(const char *name, long long ours, const Theirs &theirs) {
    if constexpr (std::is_same_v<Theirs, Absent>) is_absent(name);
    else {
        compared++;
        if (ours == static_cast<long long>(theirs)) return;
        different++;
        std::printf("# %s is %lld, not %lld\n", name, ours, static_cast<long long>(theirs));
    }
}

static inline int close(const char *what) {
    std::printf("%sok - %s: %d compared, %d different, %d not in this toolkit\n",
                different || !compared ? "not " : "", what, compared, different, absent);
    return different || !compared;
}
#endif
