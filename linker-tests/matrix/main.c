int cell(void);

int main(void) {
    return cell();
}
