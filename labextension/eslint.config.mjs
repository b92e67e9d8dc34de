import js from '@eslint/js';
import hooks from 'eslint-plugin-react-hooks';
import globals from 'globals';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['lib', 'node_modules', 'stubs', 'style/index.js', 'jest.config.js'] },
  js.configs.recommended,
  ...ts.configs.strict,
  {
    files: ['widgets/build.mjs'],
    languageOptions: { globals: globals.node },
    rules: { 'no-undef': 'error' }
  },
  {
    files: ['src/**/*.{ts,tsx}', 'widgets/src/**/*.{ts,tsx}'],
    plugins: { 'react-hooks': hooks },
    languageOptions: { globals: globals.browser },
    rules: {
      ...hooks.configs.recommended.rules,
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-extraneous-class': 'off',
      '@typescript-eslint/no-invalid-void-type': 'off',
      eqeqeq: 'error',
      'no-console': ['error', { allow: ['warn', 'error'] }]
    }
  }
);
